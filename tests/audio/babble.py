"""Sound that a speech detector takes for speech, made of nothing: for tests on machines without recordings."""

from __future__ import annotations

import numpy as np

from audio.pcm import Pcm

_FORMANT_WIDTHS_AND_LEVELS = ((80, 1.0), (100, 0.5), (150, 0.25))


def babble(seconds: float, gain: float = 1.0, pitch_hz: float = 120.0, syllables_hz: float = 4.0) -> Pcm:
    """Syllables that glide between "ah" and "ee", each with a hiss before it; 16 kHz, peak 9000 at gain 1."""
    t = np.arange(int(seconds * 16_000)) / 16_000
    pitch = pitch_hz * (1 + 0.15 * np.sin(2 * np.pi * 0.7 * t) + 0.05 * np.sin(2 * np.pi * syllables_hz * t))
    phase = np.cumsum(pitch) / 16_000
    vowel = 0.5 + 0.5 * np.sin(np.pi * syllables_hz * t)
    formants = (730 - 450 * vowel, 1090 + 1200 * vowel, 2440 + 500 * vowel)
    voice = np.zeros(t.size)
    for k in range(1, 40):
        level = sum(
            a / (1 + ((k * pitch - f) / w) ** 2) for f, (w, a) in zip(formants, _FORMANT_WIDTHS_AND_LEVELS, strict=True)
        )
        voice += level * (k * pitch < 7_000) / k**0.3 * np.sin(2 * np.pi * k * phase + k * k)
    place = (t * syllables_hz) % 1
    loud = np.clip(1.6 * np.sin(np.pi * place) - 0.2, 0, 1)
    hiss = np.diff(np.random.default_rng(3).standard_normal(t.size), prepend=0) * np.clip(1 - place / 0.2, 0, 1)
    sound = voice / np.abs(voice).max() * loud + 0.05 * hiss
    return np.clip(np.rint(sound * 9_000 * gain), -32768, 32767).astype(np.int16)


def noise(seconds: float, rms: float = 0.05) -> Pcm:
    """White noise at ``rms`` of full scale; 16 kHz."""
    x = np.random.default_rng(7).standard_normal(int(seconds * 16_000)) * rms * 32768
    return np.clip(x, -32768, 32767).astype(np.int16)
