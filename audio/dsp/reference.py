"""The reference of echo cancellation: what was really handed to the sink, given back in the rhythm of the microphone.

A canceller learns the delay between the reference and its echo, so the two must advance together: one frame of
reference per frame of microphone, whenever the threads happen to run. Nothing is dropped to get there. When the
reference is late, the microphone's frame goes without and the reference stays that much older; when it has piled up
(the two clocks drift, a sink asks for more at once), two frames are given for one of the microphone. In silence it
comes back by the same means to where it was when something last sounded, so that cancellation need not find its place
again.
"""

from __future__ import annotations

from collections import deque

from audio.pcm import FRAME_MS, FrameCutter, Pcm

CUSHION = 2
"""Frames of reference kept back, so that a sink that is 20 ms late leaves no gap. Echo takes longer than that to come
back through two sound buffers, so the reference is still ahead of it."""
PILE = 6
"""Frames that may wait without anything being done: a sink asks for so many when it begins, and each frame that is
given back disturbs cancellation for a second. The echo is later than that, too."""
LOOK_BACK = 100
"""Frames over which the smallest pile is found before some of it is given back: a second."""
BURST = 20
"""Frames (200 ms) ahead of the microphone from which the pile is taken down at once."""
LIMIT = 200
"""Frames (2 s) kept at most."""


class Reference:
    """Played sound between two threads: ``played`` is called by the sink, ``take`` by the front end.

    Args:
        rate_hz: the sink's rate; a frame has ``rate_hz / 100`` samples.

    Attributes:
        gaps: how often the sink ran dry after it was given samples in time.
        lost: samples that came while ``LIMIT`` frames were waiting.
        late: frames of the microphone that went without reference while the sink was running.
        written: samples that were played.
        taken: frames that were given out.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._size = rate_hz * FRAME_MS // 1000
        self._cutter = FrameCutter(self._size)
        self._chunks: deque[Pcm | None] = deque()
        self._frames: deque[Pcm] = deque()
        self._running = False
        self._smallest = LIMIT
        self._looked = 0
        self._empty = 0
        self.lost = 0
        self.late = 0
        self.gaps = 0
        self._shift = 0
        self._home = 0
        self._moves = 0
        self.written = 0
        self.taken = 0

    @property
    def slips(self) -> int:
        """How often reference and echo have moved against each other, so that a canceller must find its place anew.
        What is put right before anything sounds does not count."""
        return self._moves + self.gaps

    @property
    def pending(self) -> int:
        """Samples that were played and not yet given out. For the front end's thread and for tests at rest."""
        return (
            sum(chunk.size for chunk in list(self._chunks) if chunk is not None)
            + self._size * len(self._frames)
            + self._cutter.pending
        )

    def played(self, pcm: Pcm) -> None:
        """Samples that go to the sink now; the array must not change afterwards."""
        self.written += pcm.size
        if len(self._chunks) >= LIMIT:
            self.lost += pcm.size
            return
        self._chunks.append(pcm)

    def gap(self) -> None:
        """The sink ran dry: what follows is heard later than it would have been. Called by the sink."""
        self.gaps += 1

    def restart(self) -> None:
        """The sink is about to be opened anew: what waits is old, and the cushion forms again. From any thread."""
        self._chunks.append(None)

    def take(self, waiting: int = 0) -> list[Pcm]:
        """The frames that go with the microphone's next frame: one as a rule; none, or two, to stay together.

        Args:
            waiting: frames of the microphone that wait behind this one. Both sides pile up while the front end cannot
                run, and that is no drift.
        """
        self._collect()
        if not self._running:
            if len(self._frames) <= CUSHION:
                return []
            self._running = True
        if not self._frames:
            self._count_late()
            return []
        self._empty = 0
        sounds = bool(self._frames[0].any())
        if sounds:
            self._settle_here()
        elif self._shift != self._home:
            return self._come_home()
        ahead = len(self._frames) - 1 - waiting
        if len(self._frames) == 1 or not self._piled_up(ahead):
            return [self._next()]
        self._shift -= 1
        self._settle_here()
        return [self._next(), self._next()]

    def _settle_here(self) -> None:
        """From now on this is how reference and echo lie."""
        if self._shift != self._home:
            self._home = self._shift
            self._moves += 1

    def _come_home(self) -> list[Pcm]:
        """Nothing sounds, so that a frame less or more is not heard: be again where the last sound was."""
        if self._shift < self._home:
            self._shift += 1
            return []
        if len(self._frames) > 1 and not self._frames[1].any():
            self._shift -= 1
            return [self._next(), self._next()]
        return [self._next()]

    def _count_late(self) -> None:
        """A sink that has given nothing for long has stopped, and is late no more."""
        self.late += 1
        self._shift += 1
        self._empty += 1
        if self._empty >= BURST:
            self._running, self._empty = False, 0

    def _next(self) -> Pcm:
        self.taken += 1
        return self._frames.popleft()

    def _piled_up(self, ahead: int) -> bool:
        """Whether more than ``PILE`` was left over all through the last second, or far too much now."""
        self._smallest = min(self._smallest, ahead)
        self._looked += 1
        if self._looked < LOOK_BACK:
            return ahead >= BURST
        surplus = self._smallest > PILE
        self._smallest, self._looked = LIMIT, 0
        return surplus or ahead >= BURST

    def _collect(self) -> None:
        while self._chunks:
            chunk = self._chunks.popleft()
            if chunk is None:
                self._running, self._empty = False, 0
                self._home = self._shift
                self._frames.clear()
                self._cutter.reset()
            elif chunk.size == self._size and not self._cutter.pending:
                self._frames.append(chunk)
            else:
                self._frames.extend(self._cutter.push(chunk))
        while len(self._frames) > LIMIT:
            self.lost += self._frames.popleft().size
