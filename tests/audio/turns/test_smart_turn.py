"""Smart Turn as wired here: the picture it is shown, and what it says of real voices."""

from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import GloveError, GloveVoiceError
from agents.base.weights import WeightsStore
from audio.pcm import Pcm, silence
from audio.turns.mel import log_mel
from audio.turns.smart_turn import SmartTurn


def chirp(seconds: float) -> Pcm:
    """A rising tone in a little noise, the same on every machine."""
    t = np.arange(round(seconds * 16_000)) / 16_000
    noise = np.random.default_rng(7).normal(0, 0.01, t.size)
    return (8000 * (np.sin(2 * np.pi * (200 * t + 150 * t**2)) * np.exp(-((t % 0.5) ** 2) * 8) + noise)).astype(
        np.int16
    )


# Recorded from the detector's own feature extractor: (band, frame) of the picture of ``chirp``.
RECORDED = {
    (1.0, 0, 799): 0.68063,
    (1.0, 5, 710): 1.93925,
    (1.0, 40, 790): 0.45729,
    (1.0, 79, 100): -0.03802,
    (3.0, 3, 520): 0.97608,
    (3.0, 12, 700): 1.17871,
    (3.0, 30, 780): 0.54688,
    (3.0, 60, 795): 0.41637,
    (9.0, 0, 0): 1.26208,
    (9.0, 20, 400): 0.88912,
    (9.0, 41, 799): 0.30214,
}


@pytest.mark.parametrize(("place", "value"), RECORDED.items())
def test_the_picture_is_the_one_the_network_was_trained_on(place: tuple[float, int, int], value: float) -> None:
    seconds, band, frame = place
    picture = log_mel(chirp(seconds).astype(np.float32) / 32768)
    assert picture.shape == (1, 80, 800) and picture.dtype == np.float32
    assert picture[0, band, frame] == pytest.approx(value, abs=2e-4)


def test_only_the_last_eight_seconds_count() -> None:
    sound = chirp(9.0).astype(np.float32) / 32768
    assert np.array_equal(log_mel(sound), log_mel(sound[-8 * 16_000 :]))


@pytest.fixture(scope="module")
def ear() -> SmartTurn:
    try:
        return SmartTurn.load(WeightsStore())
    except GloveError as error:
        if error.code != "ERR_WEIGHTS_UNAVAILABLE":
            raise
        pytest.skip(error.message)


def test_its_answers_are_those_of_the_reference(ear: SmartTurn) -> None:
    scores = [ear.score(chirp(seconds)) for seconds in (1.0, 3.0, 9.0)]
    assert scores == pytest.approx(
        [0.84, 0.07, 0.94], abs=0.15
    )  # eight-bit weights magnify what processors round differently


def test_what_is_no_sound_is_no_finished_turn(ear: SmartTurn) -> None:
    assert [ear.score(pcm) for pcm in (silence(0), silence(500), silence(16_000))] == [0.0, 0.0, 0.0]


async def test_it_takes_its_declared_time(ear: SmartTurn) -> None:
    assert 0.0 <= await ear.probability(chirp(1.0)) <= 1.0


def test_broken_weights_and_a_closed_detector_are_errors(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"no network")
    with pytest.raises(GloveVoiceError) as error:
        SmartTurn(tmp_path / "x.onnx")
    assert error.value.code == "ERR_TURN_LOAD"
