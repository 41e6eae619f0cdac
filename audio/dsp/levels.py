"""Meters: how loud it is, and how much of the device's own voice echo cancellation takes away (ERLE)."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from audio.pcm import FRAME_MS, Pcm

SILENCE_DB = -96.0
"""The level of digital silence: the smallest step of 16 bits."""


def power(pcm: Pcm) -> float:
    """Mean square on the scale of int16; 0 for an empty array."""
    x = pcm.astype(np.float32)
    return float(np.dot(x, x)) / max(1, x.size)


def power_db(mean_square: float) -> float:
    """A ``power`` in dB below full scale, not less than ``SILENCE_DB``."""
    return max(SILENCE_DB, 10 * math.log10(mean_square / 32768.0**2 + 1e-12))


class LevelMeter:
    """A level in dB below full scale that rises at once and falls slowly, as a display shows it.

    Args:
        fall_db: how far it falls per frame.
    """

    def __init__(self, fall_db: float = 0.3) -> None:
        self._fall_db = fall_db
        self.db = SILENCE_DB

    def add(self, mean_square: float) -> None:
        """The ``power`` of one more frame."""
        self.db = max(power_db(mean_square), self.db - self._fall_db)


class ErleMeter:
    """Echo return loss enhancement, measured live: by how many dB the echo in the microphone is weakened.

    Frames are compared while the reference sounds, in windows of half a second. The noise of the room, measured while
    the reference is silent, is taken out of both sides; windows in which hardly any echo arrives (headphones, a volume
    of zero) say nothing and are left out. A user who speaks at the same time makes a window look bad, a canceller that
    fails makes all of them look bad: the estimate is the upper quartile of the last eight.

    Args:
        window: frames of one window.

    Attributes:
        db: the estimate, or None while there is too little to judge by.
    """

    FEWEST = 5
    """Windows (2.5 s of sound) before there is an estimate."""
    ECHO_OVER_NOISE = 4.0
    """How many times the power of the noise an echo must have to be measured (6 dB)."""
    NOISE_FALL = 0.05
    NOISE_RISE = 0.005

    def __init__(self, window: int = 50) -> None:
        self._window = window
        self._noise: float | None = None
        self._kept: deque[float] = deque(maxlen=8)
        self.db: float | None = None
        self._begin()

    def _begin(self) -> None:
        self._frames = 0
        self._before = 0.0
        self._after = 0.0

    def add(self, before: float, after: float) -> bool:
        """The power of one frame before and after cancellation, which may hold the echo of sound. Returns whether there
        is a newer ``db`` now."""
        self._frames += 1
        self._before += before
        self._after += after
        if self._frames < self._window:
            return False
        measured = self._close()
        self._begin()
        return measured

    def rest(self, before: float) -> None:
        """The power of one frame without echo: the room's noise, followed down quickly and up slowly."""
        if self._noise is None:
            self._noise = before
        rate = self.NOISE_FALL if before < self._noise else self.NOISE_RISE
        self._noise += rate * (before - self._noise)

    @property
    def window_s(self) -> float:
        """Seconds of sound between two estimates."""
        return self._window * FRAME_MS / 1000

    @property
    def noise(self) -> float:
        """The power of the room's noise; 1, one step of 16 bits, until it is known."""
        return self._noise or 1.0

    def reset(self) -> None:
        """Forget what was measured of the echo: the path has changed."""
        self._kept.clear()
        self.db = None
        self._begin()

    def _close(self) -> bool:
        noise = self.noise
        before, after = self._before / self._window, self._after / self._window
        if before < self.ECHO_OVER_NOISE * noise:
            return False
        echo, rest = before - noise, max(after - noise, noise / 4, 1e-3)
        self._kept.append(float(10 * np.log10(max(echo / rest, 1e-3))))
        if len(self._kept) >= self.FEWEST:
            self.db = sorted(self._kept)[len(self._kept) * 3 // 4]
        return self.db is not None
