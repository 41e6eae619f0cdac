"""Two clocks: by how much the speaker's runs faster than the microphone's, and reading the reference at the other one.

Each device has a crystal of its own, and two of them differ by up to some hundred millionths. The rate of each stream
is the slope of its sample count over the machine's clock. A block may come late and never early, so only the earliest
of each second counts (the lower envelope, as for the skew of packet streams); a straight line through the envelopes of
the last minute is good to some millionths.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from audio.pcm import Pcm, round_to_pcm, silence

WINDOW_S = 1.0
MEMORY = 60
"""Windows that are kept: a minute."""
FEWEST = 15
"""Windows before there is an estimate: within 15 s a delay of a millisecond looks like less than 100 ppm."""
STEP_S = 0.008
"""When the envelope is further than that from where the line leads, samples were lost: the line begins anew."""
LARGEST = 0.02
"""No crystal is two hundredths off: such a slope is a fault of the sound system and not to be followed."""


class StreamClock:
    """The true rate of one stream, from when its samples came.

    Args:
        rate_hz: what the stream says it runs at.

    Attributes:
        excess: by what fraction it runs faster; None while there is too little to judge by.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._samples = 0
        self._points: deque[tuple[float, float]] = deque(maxlen=MEMORY)
        self._window: tuple[float, float] | None = None
        self._window_from = 0.0
        self._begins = False
        self.excess: float | None = None

    def add(self, samples: int, at_s: float) -> bool:
        """``samples`` more came at ``at_s`` (monotonic seconds). Returns whether ``excess`` is newer now."""
        if self._begins:
            self._begins, self._window = False, None
            self._points.clear()
        lateness = at_s - self._samples / self._rate_hz
        self._samples += samples
        if self._window is None:
            self._window_from = at_s
        if self._window is None or lateness < self._window[1]:
            self._window = (at_s, lateness)
        if at_s - self._window_from < WINDOW_S:
            return False
        return self._close(self._window)

    def interrupted(self) -> None:
        """The stream was stopped or opened anew: what it did before says nothing about the line from here on. From any
        thread."""
        self._begins = True

    def _close(self, point: tuple[float, float]) -> bool:
        self._window = None
        if self._points:
            at, late = self._points[-1]
            if abs(point[1] - late + (self.excess or 0.0) * (point[0] - at)) > STEP_S:
                self._points.clear()
        self._points.append(point)
        if len(self._points) < FEWEST:
            return False
        times, delays = np.array(self._points).T
        # A stream that runs fast is ever less late.
        self.excess = -float(np.polyfit(times - times[0], delays, 1)[0])
        return True


class Drift:
    """By how much the speaker's clock runs faster than the microphone's.

    Attributes:
        excess: as a fraction (1e-4 is 100 ppm); 0 while it is not known, or not worth following.
    """

    IGNORED = 15e-6
    """Less than this is left alone: it moves reference and echo by one frame in ten minutes."""

    def __init__(self, speaker_hz: int) -> None:
        self._speaker = StreamClock(speaker_hz)
        self._microphone: StreamClock | None = None
        self._microphone_hz = 0
        self.excess = 0.0

    def played(self, samples: int, at_s: float) -> None:
        """The speaker asked for ``samples``."""
        if self._speaker.add(samples, at_s):
            self._compare()

    def captured(self, samples: int, rate_hz: int, at_s: float) -> None:
        """The microphone delivered ``samples`` at its ``rate_hz``."""
        if self._microphone is None or self._microphone_hz != rate_hz:
            self._microphone, self._microphone_hz = StreamClock(rate_hz), rate_hz
        self._microphone.add(samples, at_s)

    def interrupted(self) -> None:
        """A stream was stopped or opened anew; until more is known the last estimate stays."""
        self._speaker.interrupted()
        if self._microphone is not None:
            self._microphone.interrupted()

    def _compare(self) -> None:
        if self._microphone is None or self._speaker.excess is None or self._microphone.excess is None:
            return
        excess = self._speaker.excess - self._microphone.excess
        if abs(excess) <= LARGEST:
            self.excess = 0.0 if abs(excess) < self.IGNORED else excess


class Stretch:
    """Gives out frames of ``size`` samples, reading those that are put in ``1 + excess`` times as fast.

    With an ``excess`` of 0 from the beginning frames pass untouched. Otherwise samples between samples are those of a
    cubic through four neighbours (Catmull and Rom), which is exact enough for sound far below half the rate.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._steps = np.arange(size, dtype=np.float64)
        self.reset()

    def reset(self) -> None:
        """Forget what is held back."""
        self._held: Pcm | None = None
        self._position = 0.0
        self._last = silence(2)

    @property
    def held(self) -> float:
        """Samples that were put in and not yet read."""
        return 0.0 if self._held is None else self._held.size - self._position

    def wants(self, excess: float) -> int:
        """How many frames must be put in before the next one can be given out: 1, rarely 0 or 2."""
        if self._held is None:
            return 1 if excess == 0.0 else 2
        missing = self._position + self._size * (1 + excess) + 2 - self._held.size
        return max(0, -int(-missing // self._size))

    def pass_on(self, frames: list[Pcm], excess: float) -> Pcm:
        """The next frame; ``frames`` are as many more as ``wants`` said."""
        if self._held is None:
            if excess == 0.0:
                self._last = frames[0][-2:]
                return frames[0]
            self._held, self._position = self._last, 2.0
        self._held = np.concatenate((self._held, *frames))
        at = self._position + (1 + excess) * self._steps
        out = _between(self._held, at) if self._held.any() else silence(self._size)
        self._position += (1 + excess) * self._size
        done = max(0, int(self._position) - 2)
        self._held, self._position = self._held[done:], self._position - done
        return out


def _between(x: Pcm, at: npt.NDArray[np.float64]) -> Pcm:
    """``x`` at the positions ``at``, each at least 1 and at most ``x.size - 3``."""
    whole = at.astype(np.intp)
    t = (at - whole).astype(np.float32)
    y = x.astype(np.float32)
    before, here, after, beyond = y[whole - 1], y[whole], y[whole + 1], y[whole + 2]
    slope, end_slope = (after - before) / 2, (beyond - here) / 2
    rise = after - here
    return round_to_pcm(
        here + t * (slope + t * (3 * rise - 2 * slope - end_slope + t * (slope + end_slope - 2 * rise)))
    )
