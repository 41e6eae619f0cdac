"""The small change of talking: repeat, stop, never mind, what can you do, hello, thanks, goodbye."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal

from pydantic import BaseModel

from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.everyday.phrases import failure, pick, success
from agents.everyday.skills import enumerate_skills, skills
from agents.everyday.timers import TimerBook

LastReply = Callable[[ToolContext], Awaitable[str | None]]
"""Finds the last reply the user heard, or None."""


class CourtesyArgs(BaseModel):
    """Which courtesy."""

    kind: Literal["hello", "thanks", "goodbye", "how_are_you", "hear_me"]


_REPEAT = (
    Sentences(
        "en",
        (
            "repeat [that|it|the last one|yourself]",
            "say (that|it) again",
            "what did you [just] say",
            "what was that",
            "come again",
            "(pardon|pardon me|sorry what|i did not (hear|catch|get) (that|you|it))",
            "again",
            "one more time",
            "say again",
            "repeat what you [just] said",
            "i did not understand",
        ),
    ),
    Sentences(
        "de",
        (
            "wiederhol[e] [das|es] [noch mal|nochmal|noch einmal]",
            "wiederhole",
            "(sag|sage) das [bitte] (noch mal|nochmal|noch einmal)",
            "noch mal",
            "nochmal",
            "noch einmal",
            "was hast du [gerade|eben] gesagt",
            "wie bitte",
            "wie war das",
            "das (habe ich|hab ich) nicht (verstanden|gehört)",
            "[das] (noch mal|nochmal|noch einmal) wiederholen",
            "ich habe [dich|das] nicht (verstanden|gehört)",
            "(das|es) (wiederholen|noch einmal sagen)",
        ),
    ),
)
_STOP = (
    Sentences(
        "en",
        (
            "stop [it|that|talking|now|speaking]",
            "stop stop [stop]",
            "(be quiet|quiet|silence|shut up|hush|enough|that is enough|pause)",
            "snooze",
            "stop the (ringing|noise|alarm sound)",
            "dismiss [it|that]",
            "i heard you",
            "ok stop",
            "stop please",
        ),
    ),
    Sentences(
        "de",
        (
            "(stopp|stop|halt|anhalten|ruhe|genug|aufhören|schluss) [jetzt|damit]",
            "(stopp|stop) (stopp|stop)",
            "hör auf [damit|zu reden]",
            "sei (still|ruhig|leise)",
            "(das|es) reicht",
            "halt die klappe",
            "halt den mund",
            "pause",
            "still",
        ),
    ),
)
_NEVER_MIND = (
    Sentences(
        "en",
        (
            "(never mind|nevermind|forget about it|cancel|cancel that|scratch that|no never "
            "mind|nothing|it is nothing|leave it)",
            "(no|nope) [thanks|thank you]",
            "(that is all|that will be all|that is it)",
            "do not bother",
        ),
    ),
    Sentences(
        "de",
        (
            "(vergiss es|egal|schon gut|ist egal|nicht so wichtig|abbrechen|abbruch|lass es|lass gut "
            "sein|lass mal|nichts|nein danke)",
            "(das war alles|das ist alles|das wars|sonst nichts)",
            "ach egal",
            "(brich ab|brich das ab)",
            "nein",
        ),
    ),
)
_ABILITIES = (
    Sentences(
        "en",
        (
            "what can you do",
            "help [me]",
            "what are you able to do",
            "what can i (say|ask) [you]",
            "what (things|stuff) can you do",
            "how can you help [me]",
            "what do you do",
            "what are your (abilities|skills|features|commands)",
            "who are you",
            "what are you",
            "what can i ask you",
            "what else can you do",
        ),
    ),
    Sentences(
        "de",
        (
            "was kannst du [alles|so|sonst noch|noch]",
            "hilfe",
            "wobei kannst du [mir] helfen",
            "was kann ich [dich] [alles] (fragen|sagen)",
            "wie kannst du [mir] helfen",
            "was sind deine fähigkeiten",
            "wer bist du",
            "was bist du",
            "was machst du [so]",
            "hilf mir",
        ),
    ),
)


def _courtesy(language: str, kind: str, *templates: str) -> Sentences:
    return Sentences(language, templates, arguments={"kind": kind})


_COURTESIES = (
    _courtesy(
        "en", "hello", "(hello|hi|hey|hey there|hi there|hello there|howdy|good (morning|afternoon|evening|day))"
    ),
    _courtesy(
        "en",
        "thanks",
        "(thanks|thank you) [so much|very much|a lot]",
        "(okay|ok|great|perfect|cool|nice|alright) (thanks|thank you)",
        "many thanks",
        "cheers",
        "thank you for (your|the) help",
        "(thanks|thank you) that is all",
    ),
    _courtesy(
        "en",
        "goodbye",
        "(goodbye|good bye|bye|bye bye|see you [later|soon|tomorrow]|good night|have a (nice|good) (day|evening))",
    ),
    _courtesy(
        "en", "how_are_you", "how are you [today|doing|doing today]", "how is it going", "how do you do", "are you okay"
    ),
    _courtesy(
        "en",
        "hear_me",
        "(can you hear me|do you hear me|are you there|are you listening|can you hear me now|testing [1 2 3])",
    ),
    _courtesy("de", "hello", "(hallo|hi|hey|servus|moin|grüß gott|guten (morgen|tag|abend)|grüß dich|hallo du)"),
    _courtesy(
        "de",
        "thanks",
        "(danke|dankeschön|danke schön|danke sehr|vielen dank|besten dank|herzlichen dank|danke dir)",
        "(okay|ok|super|prima|toll|alles klar|gut) danke",
    ),
    _courtesy(
        "de",
        "goodbye",
        "(tschüss|tschüs|auf wiedersehen|bis (bald|später|morgen|dann)|gute nacht|ciao|mach's gut|wiedersehen)",
    ),
    _courtesy("de", "how_are_you", "wie geht es dir [heute]", "wie geht es", "alles (gut|klar) bei dir"),
    _courtesy("de", "hear_me", "(hörst du mich|kannst du mich hören|bist du da|hörst du zu|hörst du mich jetzt)"),
)

_ANSWERS: dict[str, tuple[str, str]] = {
    "hello": ("Hello!", "Hallo!"),
    "thanks": ("You're welcome.", "Gern geschehen."),
    "goodbye": ("Goodbye!", "Auf Wiedersehen!"),
    "how_are_you": ("I'm running well, thank you.", "Danke, bei mir läuft alles."),
    "hear_me": ("Yes, I can hear you.", "Ja, ich höre dich."),
}


def conversation_tools(
    timers: TimerBook | None = None, last_reply: LastReply | None = None, names: Iterable[str] = ()
) -> list[Tool[Any]]:
    """The tools ``repeat``, ``stop``, ``never_mind``, ``abilities`` and ``courtesy``.

    Args:
        timers: "stop" silences what rings here.
        last_reply: finds what was said last; without it there is nothing to repeat.
        names: the tools that "what can you do" speaks of.
    """
    known = tuple(names)

    async def repeat(args: NoArgs, ctx: ToolContext) -> ToolResultData:
        said = await last_reply(ctx) if last_reply is not None else None
        if not said:
            return failure(
                None, pick(ctx.language, en="I haven't said anything yet.", de="Ich habe noch nichts gesagt.")
            )
        return success({"repeated": said}, said)

    async def stop(args: NoArgs, ctx: ToolContext) -> ToolResultData:
        silenced = timers.dismiss() if timers is not None else []
        return success({"dismissed": [event.id for event in silenced]}, pick(ctx.language, en="Okay.", de="Okay."))

    async def never_mind(args: NoArgs, ctx: ToolContext) -> ToolResultData:
        return success(None, pick(ctx.language, en="All right.", de="In Ordnung."))

    async def abilities(args: NoArgs, ctx: ToolContext) -> ToolResultData:
        language = pick(ctx.language, en="en", de="de")
        said = enumerate_skills(known, language)
        if not said:
            return success([], pick(language, en="I can talk with you.", de="Ich kann mit dir reden."))
        return success(skills(known, language), pick(language, en=f"I can {said}.", de=f"Ich kann {said}."))

    async def courtesy(args: CourtesyArgs, ctx: ToolContext) -> ToolResultData:
        en, de = _ANSWERS[args.kind]
        return success({"kind": args.kind}, pick(ctx.language, en=en, de=de))

    return [
        Tool("repeat", "Say the last reply again.", repeat, NoArgs, sentences=_REPEAT),
        Tool("stop", "Stop talking and silence ringing timers.", stop, NoArgs, sentences=_STOP),
        Tool("never_mind", "The user takes back what they wanted.", never_mind, NoArgs, sentences=_NEVER_MIND),
        Tool("abilities", "Tell what can be done without a language model.", abilities, NoArgs, sentences=_ABILITIES),
        Tool("courtesy", "Answer a greeting, thanks or goodbye.", courtesy, CourtesyArgs, sentences=_COURTESIES),
    ]
