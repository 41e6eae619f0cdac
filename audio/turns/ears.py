"""What a session's microphone is heard by: the turn engine, or whoever stands in for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from audio.pcm import Pcm
from audio.turns.contract import Phase
from audio.vad.base import VadAdapter, VadEvent


class Ears(Protocol):
    """Turns sound of the user into turns. ``audio.turns.engine.TurnEngine`` is one, and documents the methods."""

    @property
    def trim(self) -> Callable[[str], str]:
        """Takes off a transcript what is not meant for the agent (see ``Addressed``)."""
        ...

    @trim.setter
    def trim(self, trim: Callable[[str], str]) -> None: ...

    @property
    def takes_floor(self) -> Callable[[str], bool] | None:
        """Which texts may become a turn; None: all (see ``Addressed``)."""
        ...

    @takes_floor.setter
    def takes_floor(self, takes_floor: Callable[[str], bool] | None) -> None: ...

    @property
    def vad(self) -> VadAdapter | None:
        """The voice detector, if there is one."""
        ...

    @property
    def phase(self) -> Phase:
        """Where the user is in an utterance."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing of the user is being heard, recognised or waited for."""
        ...

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """Show a frame to the voice detector alone."""
        ...

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """One frame of the microphone."""
        ...

    def hold(self, frames: Iterable[Pcm]) -> None:
        """A talk key is pressed."""
        ...

    def commit(self) -> None:
        """What was said so far is a turn."""
        ...

    def forget(self) -> None:
        """Drop the utterance in progress."""
        ...
