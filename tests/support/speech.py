"""Real speech that a clean clone has: a clip that comes with the recogniser's weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from audio.io.wavfile import read_wav
from audio.pcm import CAPTURE_RATE_HZ, Pcm


@cache
def spoken(seconds: float = 4.0) -> Pcm:
    """The first ``seconds`` of a read sentence, 16 kHz. Skips the test where the clips cannot be had."""
    try:
        folder = WeightsStore().ensure("moonshine-clips")
    except GloveError as fault:
        pytest.skip(f"no recorded speech: {fault.message}")
    whole = np.concatenate(list(read_wav(folder / "two_cities.wav").blocks(CAPTURE_RATE_HZ)))
    return whole[: round(seconds * CAPTURE_RATE_HZ)]
