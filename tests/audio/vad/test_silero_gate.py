"""The gate that keeps Silero wired rightly: each way of wiring it wrongly must fail it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from audio.io.wavfile import read_wav
from audio.pcm import CAPTURE_RATE_HZ, Pcm, rms, silence
from audio.vad.silero_model import FRAME_SAMPLES, find_model, shared_session
from benchmarks.vad import AUC_GATE, MISTAKES, Bench, Labelled, Wiring, frame_labels, load, main, roc_auc
from tests.audio.babble import babble, noise

MISTAKE = pytest.mark.parametrize("wiring", MISTAKES, ids=lambda wiring: wiring.name.replace(" ", "-"))


@pytest.fixture(scope="module")
def recorded(shared_audio: Path) -> Bench:
    return Bench(shared_session(find_model()), load(shared_audio))


@pytest.fixture(scope="module")
def made() -> Bench:
    """Speech-like syllables between silence and noise: needs no recordings."""
    parts = [(silence(16_000), False), (babble(2.0), True), (noise(2.0, 0.02), False), (babble(2.0, 0.1, 200), True)]
    return Bench(shared_session(find_model()), [_labelled("made", parts)])


@pytest.fixture(scope="module")
def carried() -> Bench:
    """Real speech from the weights store, before and after a stretch of noise; labelled by its loudness."""
    try:
        folder = WeightsStore().path("moonshine-clips")
    except GloveError:
        pytest.skip("the clips are not in the weights store")
    parts: list[tuple[Pcm, bool]] = [(noise(3.0, 0.001), False)]
    for name in ("beckett.wav", "two_cities.wav"):
        with read_wav(folder / name) as audio:
            speech = audio.read(CAPTURE_RATE_HZ)[: 9 * CAPTURE_RATE_HZ]
        frames = np.split(speech[: speech.size // FRAME_SAMPLES * FRAME_SAMPLES], speech.size // FRAME_SAMPLES)
        loud = np.convolve([rms(frame) > 0.006 for frame in frames], np.ones(7), "same") > 0
        parts += list(zip(frames, loud, strict=True))
        parts.append((noise(3.0, 0.001), False))
    return Bench(shared_session(find_model()), [_labelled("carried", parts)])


def _labelled(name: str, parts: list[tuple[Pcm, bool]]) -> Labelled:
    pcm = np.concatenate([part for part, _ in parts])
    speech = np.concatenate([np.full(part.size, is_speech) for part, is_speech in parts])
    frames = pcm.size // FRAME_SAMPLES
    return Labelled(name, pcm, speech[FRAME_SAMPLES // 2 :: FRAME_SAMPLES][:frames])


def test_recordings_of_people_pass_the_gate(recorded: Bench) -> None:
    score = recorded.product()
    assert score.auc >= AUC_GATE
    assert score.passes


@MISTAKE
def test_recordings_catch_each_mistake(recorded: Bench, wiring: Wiring) -> None:
    score = recorded.mistake(wiring)
    assert not score.passes
    assert (score.auc < AUC_GATE) == wiring.fails_auc


def test_real_speech_from_the_weights_store_passes_the_gate(carried: Bench) -> None:
    assert carried.product().passes


@pytest.mark.parametrize("wiring", [one for one in MISTAKES if one.gain == 1.0], ids=lambda one: one.name)
def test_real_speech_from_the_weights_store_catches_each_mistake(carried: Bench, wiring: Wiring) -> None:
    assert not carried.mistake(wiring).passes


def test_made_speech_agrees_with_the_plain_statement(made: Bench) -> None:
    score = made.product()
    assert score.disagreement < 1e-4
    assert score.auc >= AUC_GATE


@MISTAKE
def test_made_speech_catches_each_mistake(made: Bench, wiring: Wiring) -> None:
    assert not made.mistake(wiring).passes


def test_a_perfect_a_useless_and_a_reversed_detector() -> None:
    speech = np.array([False, False, True, True])
    assert roc_auc(speech, np.array([0.1, 0.2, 0.3, 0.4])) == 1.0
    assert roc_auc(speech, np.array([0.5, 0.5, 0.5, 0.5])) == 0.5
    assert roc_auc(speech, np.array([0.4, 0.3, 0.2, 0.1])) == 0.0


def test_labels_are_taken_at_the_middle_of_each_frame() -> None:
    assert frame_labels("x,0.0,0.047,0,0.047,0.1,1,0.1,1.0,0\n", 4).tolist() == [False, True, True, False]


def test_the_benchmark_says_so_when_there_is_nothing_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--audio", str(tmp_path)]) == 2
    assert "no labelled recordings" in capsys.readouterr().err
