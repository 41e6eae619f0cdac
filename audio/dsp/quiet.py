"""Whether a room is quiet: nothing is louder than what has been there all the time.

The floor is the least power of the last seconds (minimum statistics), so speech cannot become the floor, since it has
pauses, and a fan that is switched on can, after a while. Half as loud as the room's noise is loud enough to be heard:
that adds two decibels, while steady noise in windows of 40 ms varies by a quarter of one. A room that is quieter than
ever before shows that what passed for its floor was a sound (somebody was talking already when the microphone was
opened); such a sound is heard out like any other.
"""

from __future__ import annotations

from collections import deque

from audio.dsp.levels import power
from audio.pcm import CAPTURE_RATE_HZ, Pcm

WINDOW_SAMPLES = 640
"""What is measured at a time: 40 ms."""
MEMORY_S = 8
"""The floor is the least power of so many seconds."""
MARGIN = 1.6
"""How many times the power of the floor is not quiet any more (2 dB)."""
LEAST_POWER = 2.0
"""Below this (-87 dB) there is only the converter."""
HOLD_S = 1.5
"""How long a room stays not quiet after a sound."""


class QuietGate:
    """Tells, as the sound comes in, whether the room is quiet. It is not, in the first second.

    Attributes:
        quiet: whether it was quiet at the last sample.
    """

    def __init__(self) -> None:
        self.quiet = False
        self._energy = 0.0
        self._samples = 0
        self._minima: deque[float] = deque(maxlen=MEMORY_S)
        self._minimum = float("inf")
        self._windows = 0
        self._hold = 0

    def add(self, pcm: Pcm) -> bool:
        """More sound at 16 kHz, best in steps that divide or are multiples of 40 ms. Returns ``quiet``."""
        self._energy += power(pcm) * pcm.size
        self._samples += pcm.size
        if self._samples >= WINDOW_SAMPLES:
            self._judge(self._energy / self._samples, self._samples)
            self._energy, self._samples = 0.0, 0
        return self.quiet

    def _judge(self, mean_square: float, samples: int) -> None:
        before = min((*self._minima, self._minimum))
        fallen = before != float("inf") and before > MARGIN * max(LEAST_POWER, mean_square)
        self._minimum = min(self._minimum, mean_square)
        self._windows += samples
        if self._windows >= CAPTURE_RATE_HZ:
            self._minima.append(self._minimum)
            self._minimum, self._windows = mean_square, 0
        floor = max(LEAST_POWER, min((*self._minima, self._minimum)))
        if fallen or mean_square > MARGIN * floor:
            self._hold = round(HOLD_S * CAPTURE_RATE_HZ)
        else:
            self._hold = max(0, self._hold - samples)
        self.quiet = self._hold == 0 and bool(self._minima)
