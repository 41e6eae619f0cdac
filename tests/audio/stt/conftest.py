from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soxr

from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.moonshine import MoonshineStt
from audio.stt.whisper import WhisperStt

Ensure = Callable[[str], Path]


def read_wav(path: Path) -> Pcm:
    """A 16-bit mono WAV at 16 kHz."""
    with wave.open(str(path)) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
        return pcm if file.getframerate() == CAPTURE_RATE_HZ else soxr.resample(pcm, file.getframerate(), 16_000)


@pytest.fixture(scope="session")
def weights() -> WeightsStore:
    """The weights of this machine; what is missing is fetched."""
    return WeightsStore()


@pytest.fixture(scope="session")
def ensure(weights: WeightsStore) -> Ensure:
    """Makes sure of an entry, or skips the test where it cannot be had."""

    def ensure_entry(entry_id: str) -> Path:
        try:
            return weights.ensure(entry_id)
        except GloveError as error:
            if error.code != "ERR_WEIGHTS_UNAVAILABLE":
                raise
            pytest.skip(error.message)

    return ensure_entry


@pytest.fixture(scope="session")
def tiny(weights: WeightsStore, ensure: Ensure) -> WhisperStt:
    ensure("whisper-tiny.en")
    return WhisperStt.load(weights, "whisper-tiny.en")


@pytest.fixture(scope="session")
def base(weights: WeightsStore, ensure: Ensure) -> WhisperStt:
    ensure("whisper-base")
    return WhisperStt.load(weights, "whisper-base")


@pytest.fixture(scope="session")
def moonshine(weights: WeightsStore, ensure: Ensure) -> MoonshineStt:
    ensure("moonshine-tiny-en")
    return MoonshineStt.load(weights)


@pytest.fixture(scope="session")
def two_cities(ensure: Ensure) -> Pcm:
    """44 s of somebody reading the first lines of A Tale of Two Cities."""
    return read_wav(ensure("moonshine-clips") / "two_cities.wav")


@pytest.fixture(scope="session")
def beckett(ensure: Ensure) -> Pcm:
    """10 s: "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better.\""""
    return read_wav(ensure("moonshine-clips") / "beckett.wav")
