"""Short sounds that say something without words: still thinking, something went wrong."""

from __future__ import annotations

import numpy as np

from audio.pcm import Pcm, float_to_pcm


def _tone(frequency_hz: float, seconds: float, rate_hz: int, level: float) -> np.ndarray:
    t = np.arange(int(seconds * rate_hz)) / rate_hz
    fade = np.minimum(1.0, np.minimum(t, t[-1] - t) / 0.02)
    return level * fade * np.sin(2 * np.pi * frequency_hz * t)


def thinking(rate_hz: int) -> Pcm:
    """Two soft rising tones (C5, E5): heard you, still at it."""
    gap = np.zeros(int(0.05 * rate_hz))
    return float_to_pcm(np.concatenate((_tone(523.25, 0.12, rate_hz, 0.12), gap, _tone(659.26, 0.16, rate_hz, 0.12))))


def heard(rate_hz: int) -> Pcm:
    """Two quick rising tones (G5, C6): the wake phrase was heard, go on."""
    return float_to_pcm(np.concatenate((_tone(783.99, 0.06, rate_hz, 0.1), _tone(1046.5, 0.09, rate_hz, 0.1))))


def asleep(rate_hz: int) -> Pcm:
    """Two quick falling tones (C6, G5): nothing followed, no longer listening."""
    return float_to_pcm(np.concatenate((_tone(1046.5, 0.06, rate_hz, 0.07), _tone(783.99, 0.09, rate_hz, 0.07))))


def done(rate_hz: int) -> Pcm:
    """One soft tone (G5): done, nothing to say about it."""
    return float_to_pcm(_tone(783.99, 0.14, rate_hz, 0.12))


def failed(rate_hz: int) -> Pcm:
    """Two falling tones (E4, C4): something went wrong and there is no voice to say it."""
    gap = np.zeros(int(0.04 * rate_hz))
    return float_to_pcm(np.concatenate((_tone(329.63, 0.16, rate_hz, 0.16), gap, _tone(261.63, 0.26, rate_hz, 0.16))))
