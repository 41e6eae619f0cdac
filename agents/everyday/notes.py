"""Notes: what the user asked to remember, found again by its words."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import Tool, ToolContext
from agents.everyday.book import EverydayBook, Note
from agents.everyday.phrases import failure, kept, pick, success

_MOST_SPOKEN = 5
_FREE: dict[str, Any] = {"wildcard": True}
_FACT: dict[str, Any] = {"fact": _FREE}
_TOPIC: dict[str, Any] = {"topic": _FREE}
_EMPTY_WORDS = frozenset(
    "a an the my your our is are was were do does did i you we me of on in to at for that this what where when who how "
    "have has had it and or about know "
    "der die das den dem ein eine einen einem einer mein meine meinen meiner dein ist sind war ich du wir mir mich von "
    "auf in zu am für dass was wo wann wer wie habe hat es und oder über weißt".split()
)


class RememberArgs(BaseModel):
    """What to remember."""

    fact: str = Field(min_length=1, max_length=1000, description="The fact, as the user said it.")


class TopicArgs(BaseModel):
    """What it is about."""

    topic: str | None = Field(default=None, max_length=200, description="Words to look for; leave out for everything.")


class ForgetArgs(BaseModel):
    """What to forget."""

    topic: str | None = Field(
        default=None, max_length=200, description="Words to look for; leave out for the last note."
    )
    every: bool = Field(default=False, description="Whether to forget all notes.")


_REMEMBER = (
    Sentences(
        "en",
        (
            "remember that {fact}",
            "remember this {fact}",
            "(make|take) a note [that] {fact}",
            "note [down] that {fact}",
            "(make|take) a note of {fact}",
            "note to self {fact}",
            "do not forget that {fact}",
            "keep in mind that {fact}",
            "write down [that] {fact}",
        ),
        _FACT,
    ),
    Sentences(
        "de",
        (
            "(merk|merke) dir [bitte] [mal] [dass] {fact}",
            "(notier|notiere) [dir|mir|bitte] [dass] {fact}",
            "(mach|mache|schreib|schreibe) [mir] eine notiz [dass] {fact}",
            "vergiss nicht dass {fact}",
            "(schreib|schreibe) [dir|mir] auf [dass] {fact}",
            "(denk|denke) daran dass {fact}",
        ),
        _FACT,
    ),
)
_RECALL = (
    Sentences(
        "en",
        (
            "what do you (know|remember)",
            "what did i (ask|tell) you to remember",
            "(read|show|list|tell) [me] [all] [of] my notes",
            "what are my notes",
            "what have i told you",
            "do i have any notes",
            "my notes",
            "what notes do i have",
        ),
    ),
    Sentences(
        "en",
        (
            "what do you (know|remember) about {topic}",
            "what did i (say|tell you) about {topic}",
            "do you remember {topic}",
            "what have i told you about {topic}",
            "(find|read) my notes (about|on) {topic}",
        ),
        _TOPIC,
        hands_over=True,
    ),
    Sentences(
        "en",
        ("where (is|are) {topic}", "where did (i|we) (put|leave|park|hide|store) {topic}"),
        {"topic": {"wildcard": True, "pattern": "(my|our) .+"}},
        hands_over=True,
    ),
    Sentences(
        "de",
        (
            "was weißt du [alles] [noch]",
            "was hast du dir [alles] (gemerkt|notiert)",
            "was solltest du dir merken",
            "meine notizen",
            "(lies|zeig|zeige|nenn|nenne) [mir] [alle] meine notizen [vor]",
            "was habe ich dir [alles] (gesagt|erzählt)",
            "welche notizen habe ich",
            "habe ich notizen",
        ),
    ),
    Sentences(
        "de",
        (
            "was weißt du [alles|noch] (über|von|zu) {topic}",
            "was habe ich [dir] (über|von|zu) {topic} (gesagt|erzählt)",
            "was hast du dir (über|von|zu) {topic} (gemerkt|notiert)",
            "(finde|lies) meine notizen (über|zu) {topic}",
        ),
        _TOPIC,
        hands_over=True,
    ),
    Sentences(
        "de",
        (
            "wo (ist|sind|steht|stehen|liegt|liegen) (mein|meine|unser|unsere) {topic}",
            "wo (habe|hab) ich (mein|meine|meinen|unser|unsere|unseren) {topic} "
            "(hingelegt|hingetan|gelassen|abgestellt|geparkt|versteckt)",
        ),
        _TOPIC,
        hands_over=True,
    ),
)
_FORGET = (
    Sentences(
        "en",
        (
            "forget (that|this|it)",
            "forget what i [just] (said|told you)",
            "(delete|remove) (that|the last|my last) note",
            "forget the last note",
        ),
    ),
    Sentences(
        "en",
        (
            "forget (about|what you know about|what i said about|what i told you about) {topic}",
            "forget that {topic}",
            "(delete|remove) (the|my) note[s] about {topic}",
        ),
        _TOPIC,
    ),
    Sentences(
        "en",
        ("forget everything [you know]", "(delete|clear|erase) all [of] [my|the] notes", "(delete|clear) my notes"),
        arguments={"every": True},
    ),
    Sentences(
        "de",
        (
            "vergiss (das|es) [wieder|bitte]",
            "(lösch|lösche) die letzte notiz",
            "vergiss die letzte notiz",
            "vergiss was ich [gerade|eben] gesagt habe",
        ),
    ),
    Sentences(
        "de",
        (
            "vergiss (dass|was du über|das über|die notiz über) {topic}",
            "vergiss was ich über {topic} gesagt habe",
            "(lösch|lösche) (die|meine) notiz[en] (über|zu) {topic}",
            "vergiss alles über {topic}",
        ),
        _TOPIC,
    ),
    Sentences(
        "de",
        (
            "vergiss alles",
            "(lösch|lösche) alle [meine] notizen",
            "(lösch|lösche) meine notizen",
            "alle notizen löschen",
        ),
        arguments={"every": True},
    ),
)


def note_tools(book: EverydayBook) -> list[Tool[Any]]:
    """The tools ``remember``, ``recall`` and ``forget``."""

    async def remember(args: RememberArgs, ctx: ToolContext) -> ToolResultData:
        note = await book.add_note(args.fact.strip().rstrip("."))
        return success(
            {"id": note.id, "fact": note.text},
            pick(ctx.language, en=f"I'll remember: {note.text}.", de=f"Ich merke mir: {note.text}."),
        )

    async def recall(args: TopicArgs, ctx: ToolContext) -> ToolResultData:
        language, notes = ctx.language, await book.notes()
        found = matching(notes, args.topic)
        data = [{"id": note.id, "fact": note.text, "created": note.created.isoformat()} for note in found]
        if not found:
            if args.topic:
                return failure(
                    data,
                    pick(
                        language,
                        en=f"I have no note about {args.topic}.",
                        de=f"Über {args.topic} habe ich nichts notiert.",
                    ),
                )
            return success(data, pick(language, en="I have no notes yet.", de="Ich habe noch nichts notiert."))
        recent = found[-_MOST_SPOKEN:]
        said = " ".join(f"{note.text[0].upper()}{note.text[1:]}." for note in recent)
        if len(found) > len(recent):
            count = len(found)
            said = pick(
                language,
                en=f"You asked me to remember {count} things. The latest: {said}",
                de=f"Ich habe mir {count} Dinge gemerkt. Die letzten: {said}",
            )
        else:
            said = pick(language, en=f"You told me: {said}", de=f"Du hast mir gesagt: {said}")
        return success(data, said)

    async def forget(args: ForgetArgs, ctx: ToolContext) -> ToolResultData:
        language, notes = ctx.language, await book.notes()
        chosen = notes if args.every else matching(notes, args.topic) if args.topic else notes[-1:]
        if not chosen:
            return failure(
                {"forgotten": 0},
                pick(language, en="I have no such note.", de="So eine Notiz habe ich nicht."),
            )
        count = await book.delete_notes([note.id for note in chosen])
        if count == 1:
            said = pick(language, en=f"Forgotten: {chosen[0].text}.", de=f"Vergessen: {chosen[0].text}.")
        else:
            said = pick(language, en=f"I forgot {count} notes.", de=f"{count} Notizen sind gelöscht.")
        return success({"forgotten": [note.text for note in chosen]}, said)

    return [
        Tool("remember", "Keep a fact the user asks to remember.", kept(remember), RememberArgs, sentences=_REMEMBER),
        Tool("recall", "Look up what the user asked to remember.", kept(recall), TopicArgs, sentences=_RECALL),
        Tool("forget", "Forget notes.", kept(forget), ForgetArgs, sentences=_FORGET),
    ]


def matching(notes: list[Note], topic: str | None) -> list[Note]:
    """Notes that share a meaningful word with ``topic`` (its beginning suffices: "key" finds "keys"); all for None."""
    if topic is None:
        return notes
    wanted = _words(topic) - _EMPTY_WORDS or _words(topic)
    return [note for note in notes if any(_related(a, b) for a in wanted for b in _words(note.text))]


def _related(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    return a == b or (len(shorter) >= 3 and longer.startswith(shorter) and len(longer) - len(shorter) <= 2)


def _words(text: str) -> set[str]:
    return {word.removesuffix("'s") for word in re.findall(r"[\w']+", text.lower())}
