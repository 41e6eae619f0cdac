"""How long to wait after the voice has stopped before the turn counts as finished.

The wait (the *hold*) begins where the voice detector has established silence. A finished question is answered soon, a
sentence that breaks off is given time. Text is one witness only: recognisers put a full stop behind almost anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from audio.turns.words import words


@dataclass(frozen=True)
class Hold:
    """Wait ``ms`` milliseconds beyond the established silence; ``reason`` is for logs and metrics."""

    ms: int
    reason: str


class TurnDetector(Protocol):
    """Judges whether a transcript is a finished turn."""

    def decide(self, text: str, language: str) -> Hold:
        """The hold for ``text`` (BCP-47 primary tag ``language``)."""
        ...


@dataclass(frozen=True)
class HoldTimes:
    """Holds in milliseconds. None may be shorter than the time in which resumed speech is noticed (about 250 ms)."""

    command: int = 250
    question: int = 400
    statement: int = 600
    unfinished: int = 1200
    dictation: int = 2000


_OPEN_ENDINGS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "a an the and or but so because if when while that which who to of for from with in on at by about into than "
        "as is are was were my your his her our their this these those some any um uh er erm hmm like and/or i'm i'd "
        "we're it's let's please then also maybe".split()
    ),
    "de": frozenset(
        "ein eine einen einem einer der die das den dem des und oder aber weil wenn dass ob als zu von für mit in im "
        "an am auf bei nach aus über mein meine dein deine ist sind war äh ähm also noch bitte dann".split()
    ),
    "es": frozenset("un una el la los las y o pero porque si que de a en con por para mi tu es son eh este".split()),
    "fr": frozenset(
        "un une le la les des et ou mais parce si que de à en avec pour par mon ton est sont euh donc".split()
    ),
}

_JA_OPEN = (
    "て",
    "が",
    "けど",
    "から",
    "は",
    "を",
    "に",
    "と",
    "で",
    "の",
    "も",
    "へ",
    "し",
    "ので",
    "たら",
    "えっと",
    "あの",
)
_CLOSERS = "\"'”’»」』）)] "
_QUESTION = re.compile(r"[?？]$")
_FINISHED = re.compile(r"[.!。！]$")
_BROKEN_OFF = re.compile(r"(…|\.\.\.|[,;:、—–-])$")
_SPELLED = re.compile(r"^(?:[a-zà-ÿ]|\d+)$")


class RuleDetector:
    """Judges by punctuation and last words, in English, German, Spanish, French and Japanese."""

    def __init__(self, times: HoldTimes | None = None) -> None:
        self.times = times or HoldTimes()

    def decide(self, text: str, language: str) -> Hold:
        """See ``TurnDetector``."""
        times = self.times
        bare = text.strip().rstrip(_CLOSERS)
        said = words(bare)
        if not said:
            return Hold(0, "empty")
        if self._spelling(said):
            return Hold(times.dictation, "dictation")
        if _QUESTION.search(bare):
            return Hold(times.question, "question")
        if _BROKEN_OFF.search(bare) or self._open_ended(bare, said, language):
            return Hold(times.unfinished, "unfinished")
        if _FINISHED.search(bare):
            return Hold(times.statement, "statement")
        return Hold(times.unfinished, "unpunctuated")

    @staticmethod
    def _spelling(said: tuple[str, ...]) -> bool:
        """A run of single letters or digit groups ("0-0-7", "A B C"): the speaker is dictating and may go on."""
        tail = list(said[-2:])
        spelled = all(_SPELLED.match(word) for word in tail)
        return spelled and (len(tail) > 1 or tail[-1].isdigit())

    @staticmethod
    def _open_ended(bare: str, said: tuple[str, ...], language: str) -> bool:
        if language == "ja":
            return not _FINISHED.search(bare) and bare.endswith(_JA_OPEN)
        endings = _OPEN_ENDINGS.get(language, _OPEN_ENDINGS["en"])
        if said[-1] in endings:
            return True
        return len(said) >= 2 and said[-1].isdigit() and said[-2] in endings


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

    def decide(self, text: str, language: str) -> Hold:
        """See ``TurnDetector``."""
        hold = self._inner.decide(text, language)
        if hold.ms > self._hold_ms and hold.reason != "dictation" and self._is_command(text, language):
            return Hold(self._hold_ms, "command")
        return hold
