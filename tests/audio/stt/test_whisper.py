from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveVoiceError
from agents.base.weights import WeightsStore
from audio.pcm import Pcm, pcm_to_float, silence
from audio.stt.whisper import WhisperStt, _Features

from .conftest import read_wav

TAIL = "in the superlative degree of comparison only"


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def test_speech_is_understood(tiny: WhisperStt, beckett: Pcm) -> None:
    heard = tiny.transcribe(beckett)
    assert words(heard.text) == words("Ever tried, ever failed, no matter, try again, fail again, fail better")
    assert heard.language == "en"
    assert heard.score is not None and heard.score > -0.7
    assert heard.no_speech is not None and heard.no_speech < 0.6


def test_more_than_thirty_seconds_are_heard_to_the_end(tiny: WhisperStt, two_cities: Pcm) -> None:
    assert two_cities.size > 40 * 16_000
    text = " ".join(words(tiny.transcribe(two_cities).text))
    assert text.startswith("it was the best of times it was the worst of times")
    assert text.endswith(TAIL)
    for phrase in ("epoch of incredulity", "winter of despair", "direct the other way", "noisiest authorities"):
        assert text.count(phrase) == 1


@pytest.mark.parametrize(
    "pcm",
    [
        silence(0),
        silence(1),
        np.ones(7, np.int16),
        silence(16_000),
        np.random.default_rng(1).integers(-1, 2, 48_000).astype(np.int16),
        np.random.default_rng(2).normal(0, 30, 48_000).astype(np.int16),
        np.random.default_rng(3).normal(0, 2000, 48_000).astype(np.int16),
        (3000 * np.sin(np.arange(48_000) * 2 * np.pi * 50 / 16_000)).astype(np.int16),
    ],
    ids=["nothing", "one sample", "few samples", "zeros", "last bit", "quiet noise", "noise", "mains hum"],
)
def test_where_nobody_speaks_nothing_is_heard(tiny: WhisperStt, base: WhisperStt, pcm: Pcm) -> None:
    assert tiny.transcribe(pcm).text == ""
    assert base.transcribe(pcm).text == ""


def test_full_scale_and_read_only_input_are_taken(tiny: WhisperStt) -> None:
    pcm = np.full(16_000, -32768, np.int16)
    pcm.flags.writeable = False
    assert isinstance(tiny.transcribe(pcm).text, str)


def test_several_threads_hear_the_same(tiny: WhisperStt, beckett: Pcm) -> None:
    expected = tiny.transcribe(beckett[:48_000]).text
    with ThreadPoolExecutor(3) as pool:
        texts = list(pool.map(lambda _: tiny.transcribe(beckett[:48_000]).text, range(3)))
    assert texts == [expected] * 3


def test_an_english_model_always_hears_english(tiny: WhisperStt, beckett: Pcm) -> None:
    assert not tiny.is_multilingual
    assert tiny.transcribe(beckett[:32_000], language="de").language == "en"


def test_languages_are_told_apart_and_transcribed(base: WhisperStt, shared_audio: Path) -> None:
    clips = {item["id"]: item for item in json.loads((shared_audio / "manifest.json").read_text("utf-8"))}
    for name, language, text in (
        ("ha_de", "de", "schalte das wohnzimmerlicht ein"),
        ("ha_es", "es", "enciende la luz"),
        ("ha_en", "en", "turn on the living room light"),
    ):
        heard = base.transcribe(read_wav(shared_audio / clips[name]["file"]))
        assert heard.language == language
        assert text in heard.text.lower()


def test_a_repeating_short_command_is_heard_once(tiny: WhisperStt, shared_audio: Path) -> None:
    heard = tiny.transcribe(read_wav(shared_audio / "speech" / "cards-001.wav"))
    # Which suit is heard differs between processors: their arithmetic with 8-bit weights does.
    words = heard.text.lower().strip(".").replace("10", "ten").split()
    assert words[:2] == ["ten", "of"]
    assert words.count("ten") == 1
    assert len(words) == 3


def test_unknown_languages_and_closed_recognisers_are_errors(weights: WeightsStore, base: WhisperStt) -> None:
    with pytest.raises(GloveVoiceError) as error:
        base.transcribe(silence(16_000), language="xx")
    assert error.value.code == "ERR_STT_LANGUAGE"
    closed = WhisperStt.load(weights, "whisper-tiny.en")
    closed.close()
    closed.close()
    with pytest.raises(GloveVoiceError) as error:
        closed.transcribe(silence(16_000))
    assert error.value.code == "ERR_STT_CLOSED"


def test_a_folder_without_a_model_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(GloveVoiceError) as error:
        WhisperStt(tmp_path)
    assert error.value.code == "ERR_STT_LOAD" and "glove weights" in str(error.value)


def test_silence_behind_the_sound_needs_no_computing_and_changes_nothing(beckett: Pcm) -> None:
    features = _Features(80)
    for size in (1600, 16_000, 47_999, 160_000):
        x = pcm_to_float(beckett[:size])
        long = np.zeros(160_000, np.float32)
        long[: x.size] = x
        assert np.allclose(features(x, 1000), features._extract(long, padding=0)[None], atol=1e-5)


# The rules around the model, with a model that says what it is told.


class ScriptedModel:
    """Answers ``generate`` from a list of (text, score, no_speech) and notes the contexts in seconds."""

    def __init__(self, stt: WhisperStt, answers: list[tuple[str, float, float]], languages: list[tuple[str, float]]):
        self.encode_text = stt._text._file.encode
        self.answers = answers
        self.languages = languages
        self.contexts_s: list[float] = []
        self.prompts: list[list[int]] = []

    def encode(self, features: Any) -> Any:
        self.contexts_s.append(features.shape[2] / 100)
        return features

    def generate(self, encoded: Any, prompts: list[list[int]], **_: Any) -> list[Any]:
        text, score, no_speech = self.answers.pop(0)
        self.prompts += prompts
        tokens = self.encode_text(text, add_special_tokens=False).ids
        return [SimpleNamespace(sequences_ids=[tokens], scores=[score], no_speech_prob=no_speech)]

    def detect_language(self, encoded: Any) -> list[list[tuple[str, float]]]:
        return [[(f"<|{language}|>", probability) for language, probability in self.languages]]


def scripted(
    stt: WhisperStt,
    monkeypatch: pytest.MonkeyPatch,
    *answers: tuple[str, float, float],
    languages: list[tuple[str, float]] | None = None,
) -> ScriptedModel:
    model = ScriptedModel(stt, list(answers), languages or [("en", 0.99)])
    monkeypatch.setattr(stt, "_model", model)
    return model


def noise(seconds: float) -> Pcm:
    return np.random.default_rng(0).normal(0, 1000, round(seconds * 16_000)).astype(np.int16)


@pytest.mark.parametrize(("seconds", "context_s"), [(0.5, 10), (5, 10), (7, 12), (20, 25), (27, 30)])
def test_the_context_follows_the_length(
    tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch, seconds: float, context_s: float
) -> None:
    model = scripted(tiny, monkeypatch, ("Yes.", -0.1, 0.0))
    assert tiny.transcribe(noise(seconds)).text == "Yes."
    assert model.contexts_s == [context_s]


def test_a_text_that_goes_in_circles_is_heard_again_in_twice_the_context(
    tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scripted(tiny, monkeypatch, ("ten of clubs " * 20, -0.1, 0.0), ("Ten of clubs.", -0.4, 0.0))
    assert tiny.transcribe(noise(1)).text == "Ten of clubs."
    assert model.contexts_s == [10, 20]


def test_an_unlikely_text_is_heard_again_and_the_better_one_kept(
    tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(tiny, monkeypatch, ("Mumble.", -1.2, 0.1), ("Mumbled.", -1.4, 0.1))
    assert tiny.transcribe(noise(1)).text == "Mumble."


def test_what_the_model_takes_for_silence_is_empty(tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted(tiny, monkeypatch, ("Thank you.", -1.2, 0.9))
    heard = tiny.transcribe(noise(1))
    assert (heard.text, heard.no_speech) == ("", 0.9)
    assert len(model.contexts_s) == 1


def test_a_certain_text_survives_a_high_chance_of_no_speech(tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(tiny, monkeypatch, ("Stop.", -0.3, 0.9))
    assert tiny.transcribe(noise(1)).text == "Stop."


@pytest.mark.parametrize(
    ("seconds", "found", "language"),
    [
        (2.0, [("de", 0.9), ("en", 0.1)], "de"),
        (2.0, [("cy", 0.6), ("en", 0.3)], "en"),
        (0.8, [("de", 0.9), ("en", 0.1)], "en"),
    ],
    ids=["sure", "unsure", "too short"],
)
def test_another_language_than_the_primary_must_be_certain(
    base: WhisperStt,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    found: list[tuple[str, float]],
    language: str,
) -> None:
    model = scripted(base, monkeypatch, ("Ja.", -0.1, 0.0), languages=found)
    assert base.transcribe(noise(seconds)).language == language
    assert base._text._file.token_to_id(f"<|{language}|>") in model.prompts[0]


def test_a_language_that_is_not_wanted_is_not_found(base: WhisperStt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_languages", {"en", "de"})
    scripted(base, monkeypatch, ("Ja.", -0.1, 0.0), languages=[("nl", 0.2), ("de", 0.75), ("en", 0.05)])
    assert base.transcribe(noise(2)).language == "de"


def test_a_language_tag_with_a_region_is_understood(base: WhisperStt, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(base, monkeypatch, ("Sim.", -0.1, 0.0))
    assert base.transcribe(noise(1), language="pt-BR").language == "pt"


def test_a_failing_model_is_an_error_with_a_code(tiny: WhisperStt, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted(tiny, monkeypatch)

    def fail(_: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "encode", fail)
    with pytest.raises(GloveVoiceError) as error:
        tiny.transcribe(noise(1))
    assert error.value.code == "ERR_STT_FAILED" and "out of memory" in error.value.message
