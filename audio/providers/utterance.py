"""What a streaming recogniser still owes an answer for: enough to say it again to a new connection."""

from __future__ import annotations

from collections import deque

from audio.pcm import CAPTURE_RATE_HZ, Pcm

REPLAY_S = 30.0
"""Most sound that is kept, in seconds; the oldest is forgotten first."""


class Unanswered:
    """The sound since the last final, in utterances for which a final was asked, and what came after them.

    Attributes:
        forgotten: samples that did not fit, in all.
    """

    def __init__(self) -> None:
        self.forgotten = 0
        self._asked: deque[deque[Pcm]] = deque()
        self._fresh: deque[Pcm] = deque()
        self._samples = 0

    @property
    def owed(self) -> bool:
        """Whether a final was asked for and has not come."""
        return bool(self._asked)

    @property
    def fresh(self) -> bool:
        """Whether something was said since a final was last asked for."""
        return bool(self._fresh)

    def add(self, pcm: Pcm) -> None:
        """More sound, 16 kHz."""
        self._fresh.append(pcm)
        self._samples += pcm.size
        while self._samples > REPLAY_S * CAPTURE_RATE_HZ:
            oldest = next(sound for sound in (*self._asked, self._fresh) if sound).popleft()
            self._samples -= oldest.size
            self.forgotten += oldest.size

    def ask(self) -> None:
        """A final is asked for what came last."""
        self._asked.append(self._fresh)
        self._fresh = deque()

    def answered(self) -> None:
        """A final has come: for what was asked first, or, if nothing was, for all there is."""
        answered = self._asked.popleft() if self._asked else self._fresh
        self._samples -= sum(pcm.size for pcm in answered)
        answered.clear()

    def clear(self) -> None:
        """Nothing is owed any more."""
        self._asked.clear()
        self._fresh.clear()
        self._samples = 0

    def replay(self) -> tuple[list[list[Pcm]], list[Pcm]]:
        """The utterances that await their finals, and the sound behind them."""
        return [list(sound) for sound in self._asked], list(self._fresh)
