"""Models that write their thoughts into the answer, between ``<think>`` tags: they are not for speaking."""

from __future__ import annotations

from enum import Enum, auto

OPEN = "<think>"
CLOSE = "</think>"


class Place(Enum):
    """Where in a text one is: before its first word, in a thought, between thought and answer, in the answer."""

    START = auto()
    THOUGHT = auto()
    GAP = auto()
    ANSWER = auto()


class ThinkTags:
    """Separates thoughts at the beginning of a streamed text from the answer behind them.

    Only a tag that opens the text counts; later ones are words like any others.
    """

    def __init__(self) -> None:
        self._place = Place.START
        self._held = ""

    def take(self, piece: str) -> tuple[str, str]:
        """Add a piece. Returns (thought, answer): what is known to be which; what may be part of a tag is held back."""
        text, self._held, thought = self._held + piece, "", ""
        if self._place is Place.START:
            text = self._start(text)
        if self._place is Place.THOUGHT:
            thought, text = self._thought(text)
        if self._place is Place.GAP and (text := text.lstrip()):
            self._place = Place.ANSWER
        return thought, text if self._place is Place.ANSWER else ""

    def end(self) -> tuple[str, str]:
        """No more comes: (thought, answer) of what was held back."""
        held, self._held = self._held, ""
        return (held, "") if self._place is Place.THOUGHT else ("", held)

    def _start(self, text: str) -> str:
        begun = text.lstrip()
        if begun.startswith(OPEN):
            self._place = Place.THOUGHT
            return begun.removeprefix(OPEN)
        if OPEN.startswith(begun):
            self._held = text
            return ""
        self._place = Place.ANSWER
        return text

    def _thought(self, text: str) -> tuple[str, str]:
        """(thought, what follows it)."""
        thought, tag, rest = text.partition(CLOSE)
        if tag:
            self._place = Place.GAP
            return thought, rest
        kept = next((size for size in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:size])), 0)
        split = len(text) - kept
        self._held = text[split:]
        return text[:split], ""
