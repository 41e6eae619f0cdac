"""The player behind a published track, whose sound waits a moment in the track's source before it leaves."""

from __future__ import annotations

from collections.abc import Callable

from audio.io.player import Player


class TrackPlayer(Player):
    """A ``Player`` whose ``played`` leaves out what was taken from it and has not left the source yet.

    Args:
        rate_hz: the track's rate.
        ahead: samples in the source that have not left.
        drop: empties the source.

    Attributes:
        epoch: how often the source was emptied.
        on_resumed: called when a pause is over.
    """

    def __init__(self, rate_hz: int, ahead: Callable[[], int], drop: Callable[[], None]) -> None:
        super().__init__(rate_hz)
        self.epoch = 0
        self.on_resumed: Callable[[], None] = lambda: None
        self._ahead = ahead
        self._drop = drop

    @property
    def played(self) -> int:
        """See ``Player``."""
        return self._played - self._unsounded

    @property
    def played_total(self) -> int:
        """See ``Player``."""
        return self._played_before + self.played

    @property
    def has_queued(self) -> bool:
        """Whether sound waits to be taken."""
        return self._queued > 0

    @property
    def queued_samples(self) -> int:
        """Samples that wait to be taken."""
        return self._queued

    @property
    def idle(self) -> bool:
        """See ``Player``."""
        return self._queued == 0 and self._unsounded == 0

    def next_generation(self) -> int:
        """See ``Player``; what the source holds does not sound either."""
        lost = self._unsounded
        self.epoch += 1
        self._drop()
        with self._lock:
            self._played -= lost
            self.cut += lost
        return super().next_generation()

    def resume(self) -> None:
        """See ``Player``."""
        super().resume()
        self.on_resumed()

    @property
    def _unsounded(self) -> int:
        return min(self._played, max(0, self._ahead()))
