"""The reference of echo cancellation: what was really handed to the sink, given back in the rhythm of the microphone.

A canceller learns the delay between the reference and its echo and has to learn it again when the two move against each
other, so they must advance together: one frame of reference per frame of microphone, whenever the threads happen to
run. Nothing is dropped to get there.

* A reference that is late is owed: the microphone's frame goes without, and as soon as the sink has caught up, what is
  owed is given in addition. The canceller does not notice, since echo comes later than that.
* A sink that does not catch up has stood still, and the echo with it. What is owed is then forgotten.
* When more waits than usual for a second, the microphone has lost sound, and the reference follows at once. In silence
  the two come back by the same means to where they were, so that cancellation need not find its place again.
* Clocks that drift apart would move the two all the time, so the reference is read at the microphone's clock (see
  ``drift``).
"""

from __future__ import annotations

from collections import deque

from audio.dsp.drift import Drift, Stretch
from audio.pcm import FRAME_MS, FrameCutter, Pcm

CUSHION = 2
"""Frames of reference kept back at the beginning, so that a sink that is 20 ms late leaves no gap. Echo takes longer
than that to come back through two sound buffers, so the reference is still ahead of it."""
LOOK_BACK = 100
"""Frames over which the smallest pile is found: a second."""
HURRY = 20
"""The same where the microphone is known to have lost sound."""
SLACK = 2
"""So many frames more than usual may wait while something sounds: giving them disturbs more than their waiting."""
PATIENCE = 20
"""Frames (200 ms) in which a late sink may catch up."""
BURST = 20
"""Frames (200 ms) ahead of the microphone from which the pile is taken down at once."""
LIMIT = 200
"""Frames (2 s) kept at most."""


class Reference:
    """Played sound between two threads: ``played`` is called by the sink, ``take`` by the front end.

    Args:
        rate_hz: the sink's rate; a frame has ``rate_hz / 100`` samples.

    Attributes:
        drift: by how much the sink's clock runs faster than the microphone's.
        gaps: how often the sink ran dry after it was given samples in time.
        lost: samples that came while ``LIMIT`` frames were waiting.
        late: frames of the microphone that went without reference while the sink was running.
        written: samples that were played.
        taken: frames that were given out.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.drift = Drift(rate_hz)
        self._size = rate_hz * FRAME_MS // 1000
        self._cutter = FrameCutter(self._size)
        self._stretch = Stretch(self._size)
        self._chunks: deque[Pcm | None] = deque()
        self._frames: deque[Pcm] = deque()
        self._running = False
        self._known = False
        self._home = CUSHION
        self._hold = 0
        self._owed = 0
        self._since_late = 0
        self._look_anew(LOOK_BACK)
        self._hurried = False
        self._moves = 0
        self.lost = 0
        self.late = 0
        self.gaps = 0
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
        waiting = sum(chunk.size for chunk in list(self._chunks) if chunk is not None)
        return waiting + self._size * len(self._frames) + self._cutter.pending + int(self._stretch.held)

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

    def capture_gap(self) -> None:
        """The microphone has lost sound, so the reference will soon be found to wait. From any thread."""
        self._hurried = True

    def restart(self) -> None:
        """The sink is about to be opened anew: what waits is old, and the cushion forms again. From any thread."""
        self._chunks.append(None)

    def take(self, waiting: int = 0) -> list[Pcm]:
        """The frames that go with the microphone's next frame: one as a rule; none, or more, to stay together.

        Args:
            waiting: frames of the microphone that wait behind this one. Both sides pile up while the front end cannot
                run, and that is no drift.
        """
        self._collect()
        if not self._running:
            if len(self._frames) <= CUSHION:
                return []
            self._running = True
        if not self._can_give():
            self._count_late()
            return []
        if self._hold and not self._sounds():
            self._hold -= 1
            return []
        self._hold = 0
        out = [self._next()]
        for _ in range(self._surplus(waiting)):
            if not self._can_give():
                break
            out.append(self._next())
        return out

    @property
    def _pile(self) -> int:
        """Frames that wait."""
        return len(self._frames) + int(self._stretch.held) // self._size

    def _surplus(self, waiting: int) -> int:
        """How many frames more are to be given now."""
        pile = self._pile - waiting
        return self._pay_back(pile) if self._owed else self._look(pile)

    def _pay_back(self, pile: int) -> int:
        """What is owed, as far as the sink has caught up; after a while it has not and never will."""
        self._since_late += 1
        given = max(0, min(self._owed, pile - self._home))
        self._owed -= given
        if self._owed and self._since_late >= PATIENCE:
            self._owed = 0
            self._moved()
        return given

    def _look(self, pile: int) -> int:
        """What waits beyond the usual, all through the last second or far too much now."""
        hurried, self._hurried = self._hurried, False
        if hurried:
            self._look_anew(HURRY, slack=0)
        self._smallest = min(self._smallest, pile)
        self._to_look -= 1
        if pile - self._home >= BURST:
            self._moved()
            self._look_anew(LOOK_BACK)
            return pile - self._home
        if self._to_look > 0:
            return 0
        smallest, slack = self._smallest, self._slack
        self._look_anew(LOOK_BACK)
        return self._settle(smallest, slack)

    def _look_anew(self, frames: int, slack: int = SLACK) -> None:
        self._smallest, self._to_look, self._slack = LIMIT, frames, slack

    def _settle(self, smallest: int, slack: int) -> int:
        """So many frames have waited all the time. In silence a frame less or more is not heard."""
        if not self._sounds():
            self._home = CUSHION
            self._hold = max(0, CUSHION - smallest)
            return max(0, smallest - CUSHION)
        if not self._known:
            self._known, self._home = True, smallest
        if smallest - self._home <= slack:
            return 0
        self._moved()
        return smallest - self._home

    def _moved(self) -> None:
        """Reference and echo lie otherwise from now on, which matters if anything sounds."""
        self._moves += self._sounds()

    def _sounds(self) -> bool:
        return any(frame.any() for frame in self._frames)

    def _count_late(self) -> None:
        """A sink that has given nothing for long has stopped, and is late no more."""
        self.late += 1
        self._owed += 1
        self._since_late = 0
        if self._owed >= BURST:
            self._running, self._owed = False, 0

    def _can_give(self) -> bool:
        return len(self._frames) >= self._stretch.wants(self.drift.excess)

    def _next(self) -> Pcm:
        self.taken += 1
        excess = self.drift.excess
        frames = [self._frames.popleft() for _ in range(self._stretch.wants(excess))]
        return self._stretch.pass_on(frames, excess)

    def _collect(self) -> None:
        while self._chunks:
            chunk = self._chunks.popleft()
            if chunk is None:
                self._begin()
            elif chunk.size == self._size and not self._cutter.pending:
                self._frames.append(chunk)
            else:
                self._frames.extend(self._cutter.push(chunk))
        while len(self._frames) > LIMIT:
            self.lost += self._frames.popleft().size

    def _begin(self) -> None:
        self._running, self._known = False, False
        self._home, self._hold, self._owed = CUSHION, 0, 0
        self._look_anew(LOOK_BACK)
        self._frames.clear()
        self._cutter.reset()
        self._stretch.reset()
        self.drift.interrupted()
