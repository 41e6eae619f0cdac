"""Silence around synthesised speech."""

from __future__ import annotations

import numpy as np

from audio.pcm import Pcm, ms_to_samples, silence

LEAD_MS = 30
TAIL_MS = 350
_WINDOW_MS = 5
_FLOOR = 50
"""RMS level, of 32768, under which a window is silent: -56 dBFS, below the softest consonant of the voices in use."""


def trim_silence(pcm: Pcm, rate_hz: int, *, lead_ms: int = LEAD_MS, tail_ms: int = TAIL_MS) -> tuple[Pcm, int]:
    """Shorten the silence before and after speech to at most ``lead_ms`` and ``tail_ms``.

    Silence in front is heard as hesitation: engines put up to 300 ms there.

    Returns:
        The sound and the number of samples removed in front; no sound at all (0 samples) if there is only silence.
    """
    first, last = sounding(pcm, rate_hz)
    if last == 0:
        return silence(0), pcm.size
    start = max(0, first - ms_to_samples(lead_ms, rate_hz))
    end = min(pcm.size, last + ms_to_samples(tail_ms, rate_hz))
    return pcm[start:end], start


def sounding(pcm: Pcm, rate_hz: int) -> tuple[int, int]:
    """Where the sound begins and ends, in samples, to 5 ms; (0, 0) if there is only silence."""
    window = ms_to_samples(_WINDOW_MS, rate_hz)
    count = pcm.size // window
    frames = pcm[: count * window].reshape(count, window).astype(np.float64)
    loud = np.flatnonzero(np.sqrt(np.mean(frames * frames, axis=1)) > _FLOOR)
    return (int(loud[0]) * window, (int(loud[-1]) + 1) * window) if loud.size else (0, 0)
