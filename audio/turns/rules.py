"""Judging the end of a turn by its words: punctuation, last words, question forms, dictation.

Text is one witness only: recognisers put a full stop behind almost anything. What they cannot hide is a last word after
which no sentence is over, and a row of digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from audio.pcm import Pcm
from audio.turns.hold import Hold, HoldTimes, TurnDetector, Utterance
from audio.turns.impression import HearsEnds
from audio.turns.languages import Language, language
from audio.turns.words import words

_CLOSERS = "\"'”’»」』）)] "
_QUESTION = re.compile(r"[?？⁇؟]$")
_FINISHED = re.compile(r"[.!。！｡]$")
_BROKEN_OFF = re.compile(r"(…|\.\.\.|[,;:、，；：—–-])$")
_TOKENS = re.compile(r"[\s\-‐–—]+")
_EDGES = ".,;:!?…。、！？\"'”’»」』）)]（(「『[«"
_SPELLED = re.compile(r"[^\W\d_]|\d+")
_PARTS = re.compile(r"[,;、，；]\s+|[、，；]")
_JOINED = re.compile(r"\b(and|or|und|oder|y|o|et|ou)\b", re.IGNORECASE)
_ITEM = re.compile(r"\d+\D")
_FEWEST_OF_A_QUESTION = 3

CLAUSE_WORDS = 5
"""A longer clause without a comma may hold its main clause: not every recogniser writes one between them."""


class RuleDetector:
    """Judges by rules, in English, German, Spanish, French and Japanese.

    Args:
        times: the holds of each kind of ending.
    """

    def __init__(self, times: HoldTimes | None = None) -> None:
        self.times = times or HoldTimes()

    async def judge(self, utterance: Utterance) -> Hold:
        """See ``TurnDetector``."""
        return self.decide(utterance.text, utterance.language)

    def decide(self, text: str, tag: str) -> Hold:
        """The hold for a text in a language (BCP-47 primary tag)."""
        times, forms = self.times, language(tag)
        bare = text.strip().rstrip(_CLOSERS)
        said = words(bare)
        if not said:
            return Hold(0, "empty")
        if _dictating(bare, said, forms):
            return Hold(times.dictation, "dictation")
        asked = bool(_QUESTION.search(bare)) or _question_ending(bare, forms)
        if _BROKEN_OFF.search(bare) or _open_ended(bare, said, forms, asked=asked):
            return Hold(times.unfinished, "unfinished")
        if not asked and (_clause_alone(bare, said, forms) or _counting(bare)):
            return Hold(times.unfinished, "unfinished")
        if asked:
            return Hold(times.question, "question")
        if _FINISHED.search(bare) or (forms.statement_endings and bare.endswith(forms.statement_endings)):
            return Hold(times.statement, "statement")
        if len(said) >= _FEWEST_OF_A_QUESTION and said[0] in forms.question_openings:
            return Hold(times.statement, "question_form")
        return Hold(times.unfinished, "unpunctuated")


class CommandDetector:
    """Answers complete commands soonest: ``is_command`` tells whether the whole text is one; the rest is ``inner``'s.

    Args:
        inner: judges everything that is no command.
        is_command: for example the intent matcher of the tools in force.
        hold_ms: the hold of a complete command.
    """

    def __init__(self, inner: TurnDetector, is_command: Callable[[str, str], bool], hold_ms: int = 250) -> None:
        self._inner = inner
        self._is_command = is_command
        self._hold_ms = hold_ms

    async def judge(self, utterance: Utterance) -> Hold:
        """See ``TurnDetector``."""
        hold = await self._inner.judge(utterance)
        if hold.ms <= self._hold_ms or hold.reason.endswith("dictation"):
            return hold
        return Hold(self._hold_ms, "command") if self._is_command(utterance.text, utterance.language) else hold

    async def hear(self, sound: Pcm) -> float | None:
        """See ``HearsEnds``: what ``inner`` hears."""
        return await self._inner.hear(sound) if isinstance(self._inner, HearsEnds) else None


def _dictating(bare: str, said: tuple[str, ...], forms: Language) -> bool:
    """Whether single letters, digit groups or digits as words come last: the speaker is spelling and may go on.

    One alone is none unless it is all that was said: "is it on", "plan B" and "6:30" end sentences.
    """
    tokens = [token for token in (part.strip(_EDGES) for part in _TOKENS.split(bare)) if token]
    tail = [token.casefold() for token in tokens[-2:]]
    if len(tail) == 2 and all(_SPELLED.fullmatch(token) or token in forms.digits for token in tail):
        return any(token.isdigit() or token in forms.digits for token in tail) or _spelled_apart(bare)
    if len(tokens) == 1 and tokens[0].isdigit():
        return True
    return len(said) >= 2 and all(len(word) == 1 and word in forms.digits for word in said[-2:])


def _spelled_apart(bare: str) -> bool:
    """Whether two single letters at the end are letters ("A, B", "A B") rather than little words ("y o")."""
    return bare[-1:].isupper() or bare.rstrip(_EDGES)[-1:].isupper()


def _open_ended(bare: str, said: tuple[str, ...], forms: Language, *, asked: bool) -> bool:
    if forms.open_endings and not asked and not _FINISHED.search(bare) and bare.endswith(forms.open_endings):
        return True
    if asked and not _QUESTION.search(bare):
        return False
    *before, last = said
    if last.isdigit():
        if not before:
            return False
        last = before[-1]
    return last in forms.never_last or (not asked and last in forms.seldom_last)


def _clause_alone(bare: str, said: tuple[str, ...], forms: Language) -> bool:
    """Whether a subordinate clause was said and its main clause is missing: "As you know." """
    opens = 2 < len(said) <= CLAUSE_WORDS and said[0] in forms.clause_openings and said[1] in forms.subjects
    return opens and _PARTS.search(bare) is None


def _counting(bare: str) -> bool:
    """Whether things are told off by their numbers, without the "and" before the last: "2 apples, 3 pears"."""
    parts = _PARTS.split(bare)
    return len(parts) > 1 and all(_ITEM.match(part) for part in parts) and not _JOINED.search(parts[-1])


def _question_ending(bare: str, forms: Language) -> bool:
    text = bare.rstrip(_EDGES).casefold()
    for ending in forms.question_endings:
        if text.endswith(ending) and (not ending[0].isascii() or text[: -len(ending)].rstrip().endswith(",")):
            return True
    return False
