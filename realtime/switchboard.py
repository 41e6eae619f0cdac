"""Two pairs of ears, and which of them hears the microphone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from audio.pcm import Pcm
from audio.turns.contract import Phase
from audio.turns.ears import Ears
from audio.vad.base import VadAdapter, VadEvent


class Switchboard:
    """Hands everything to one of two ears (``Ears``); the other one forgets what it was hearing.

    Args:
        own: the session's turn engine, which hears when the provider does not.
        provider: the provider's.
        remote: whether the provider hears right now. It is asked at each frame.
    """

    def __init__(self, own: Ears, provider: Ears, remote: Callable[[], bool]) -> None:
        self.own = own
        self.provider = provider
        self._remote = remote
        self._now = own

    @property
    def trim(self) -> Callable[[str], str]:
        """See ``Addressed``; the provider's texts are not trimmed."""
        return self.own.trim

    @trim.setter
    def trim(self, trim: Callable[[str], str]) -> None:
        self.own.trim = trim

    @property
    def takes_floor(self) -> Callable[[str], bool] | None:
        """See ``Addressed``: while it is set, the own ears hear, since only they know such words."""
        return self.own.takes_floor

    @takes_floor.setter
    def takes_floor(self, takes_floor: Callable[[str], bool] | None) -> None:
        self.own.takes_floor = takes_floor

    @property
    def vad(self) -> VadAdapter | None:
        """Of the own ears."""
        return self.own.vad

    @property
    def phase(self) -> Phase:
        """Of whoever hears."""
        return self.hearing.phase

    @property
    def settled(self) -> bool:
        """Whether neither hears anything that is not over."""
        return self.own.settled and (self._now is self.own or self.provider.settled)

    @property
    def hearing(self) -> Ears:
        """Who hears now. An utterance of the talk key stays with whoever has heard its beginning."""
        wanted = self.provider if self._remote() and self.own.takes_floor is None else self.own
        if wanted is not self._now and self._now.phase is not Phase.HELD:
            self._now.forget()
            self._now = wanted
        return self._now

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """See ``Ears``."""
        return self.own.observe(frame, sample)

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """See ``Ears``."""
        self.hearing.process(frame, sample, events)

    def hold(self, frames: Iterable[Pcm]) -> None:
        """See ``Ears``."""
        self.hearing.hold(frames)

    def commit(self) -> None:
        """See ``Ears``."""
        self.hearing.commit()

    def forget(self) -> None:
        """See ``Ears``."""
        self.hearing.forget()
