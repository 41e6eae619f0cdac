import asyncio
import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base.errors import ConfigError, GloveVoiceError
from audio.pcm import rms
from audio.tts import hibari as voice_module
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent
from audio.tts.hibari import RATE_HZ, HibariEngine, HibariVoice, packaged_model, shared_engine
from audio.tts.local import Speech


@pytest.fixture(scope="module")
def engine() -> HibariEngine:
    return shared_engine()


@pytest.fixture
def no_download(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    import hibari.voices

    tried: list[str] = []

    def refuse(*args: Any, **_: Any) -> Any:
        tried.append(str(args))
        raise AssertionError("a download was attempted")

    monkeypatch.setattr(hibari.voices, "download", refuse)
    monkeypatch.setattr(hibari.voices, "voice_path", refuse)
    monkeypatch.setattr("hibari.tts.voice_path", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    yield tried


def package() -> Path:
    spec = find_spec("hibari")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def test_no_voice_can_reach_the_downloader(no_download: list[str]) -> None:
    names = [*json.loads((package() / "assets" / "voices.json").read_text("utf-8")), "", "../heart", "af_heart"]
    assert "emma" in names
    for name in names:
        if name == "heart":
            HibariVoice(name)
        else:
            with pytest.raises(ConfigError) as refusal:
                HibariVoice(name)
            assert refusal.value.code == "ERR_TTS_VOICE"
    loaded = HibariEngine()
    assert loaded.model_path == package() / "assets" / "hibari.onnx"
    assert loaded.synthesize("Hello.").pcm.size
    assert no_download == []


def test_it_speaks_at_a_sound_level_without_clipping(engine: HibariEngine) -> None:
    for text in ("Okay.", "The kitchen timer is set for ten minutes.", "Wow! Really? Yes, absolutely, at 3:40 PM."):
        pcm = engine.synthesize(text).pcm
        assert 0.04 < rms(pcm) < 0.2
        assert int(np.max(np.abs(pcm.astype(np.int32)))) < 32_000
        first = int(np.flatnonzero(np.abs(pcm.astype(np.int32)) > 300)[0])
        assert first / RATE_HZ < 0.08


def test_the_same_text_is_the_same_sound_from_every_thread(engine: HibariEngine) -> None:
    texts = ["One apple.", "Two pears.", "Three plums."] * 4
    alone = {text: engine.synthesize(text).pcm for text in texts[:3]}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: engine.synthesize(text).pcm, texts))
    assert all(np.array_equal(pcm, alone[text]) for text, pcm in zip(texts, together, strict=True))


def energy_inside(speech: Speech, shift_ms: int = 0) -> float:
    """Share of the sound's energy that lies within the words, when these are moved."""
    assert speech.words
    energy = speech.pcm.astype(np.float64) ** 2
    inside = np.zeros(energy.size, bool)
    for word in speech.words:
        shift = shift_ms * RATE_HZ // 1000
        inside[max(0, word.start + shift) : max(0, word.end + shift)] = True
    return float(energy[inside].sum() / energy.sum())


@pytest.mark.parametrize("text", ["Wait: first, second, third.", "One. Two. Three. Four.", "Yes; no; maybe; never."])
def test_words_are_timed_where_they_sound(engine: HibariEngine, text: str) -> None:
    speech = engine.synthesize(text)
    assert speech.words is not None
    assert [word.word for word in speech.words] == text.split()
    edges = [edge for word in speech.words for edge in (word.start, word.end)]
    assert edges == sorted(edges)
    assert edges[-1] <= speech.pcm.size
    there = energy_inside(speech)
    assert there > 0.85
    assert there > energy_inside(speech, 80)
    assert there > energy_inside(speech, -120)


@pytest.mark.parametrize("text", ["No language model is connected.", "What time is it?", "Turn left, please."])
def test_a_word_is_over_when_it_has_fallen_silent(engine: HibariEngine, text: str) -> None:
    speech = engine.synthesize(text)
    assert speech.words is not None
    last_sound = int(np.flatnonzero(np.abs(speech.pcm.astype(np.int32)) > 100)[-1])
    assert abs(speech.words[-1].end - last_sound) < 0.03 * RATE_HZ


@pytest.mark.parametrize(
    "text",
    [
        "It is 3:40 PM on the 3rd of March 2024.",
        "I — well — paid $3.50 for 12.5 kg.",
        "A 日本語 word.",
        "1234567890" * 6,
    ],
)
def test_what_is_read_as_several_words_keeps_the_timing_in_order(engine: HibariEngine, text: str) -> None:
    speech = engine.synthesize(text)
    assert speech.words
    assert [w.word for w in speech.words if w.word[0].isalpha() and w.word.isascii()] == [
        w for w in text.split() if w[0].isalpha() and w.isascii()
    ]
    assert all(a.end <= b.start + 1 for a, b in zip(speech.words, speech.words[1:], strict=False))


@pytest.mark.parametrize("text", ["", "...", "—", "日本語", "🙂", "\x00", "‮"])
def test_unpronounceable_text_is_silent(engine: HibariEngine, text: str) -> None:
    assert engine.synthesize(text).pcm.size == 0


def test_a_very_long_sentence_is_split(engine: HibariEngine) -> None:
    speech = engine.synthesize("so it goes on " * 60)
    assert speech.words is not None
    assert len(speech.words) == 240
    assert speech.pcm.size / RATE_HZ > 30


async def test_a_reply_is_spoken_to_its_end(engine: HibariEngine) -> None:
    tts = HibariVoice(engine=engine)
    events: list[TtsEvent] = []
    tts.events.on(TtsEvent, events.append)
    await tts.open()
    for text in ("Hello there. ", "🙂 ", "…日… ", "Bye."):
        tts.send_text(text)
    tts.flush()
    await asyncio.sleep(1)
    assert [event for event in events if not isinstance(event, AudioChunk)] == [*map(PieceDone, range(4)), TtsDone()]
    assert {event.piece for event in events if isinstance(event, AudioChunk)} == {0, 3}


def test_a_broken_package_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "hibari.onnx"
    broken.write_bytes(b"not a model")
    monkeypatch.setattr(voice_module, "packaged_model", lambda: broken)
    with pytest.raises(GloveVoiceError) as failure:
        HibariEngine()
    assert failure.value.code == "ERR_TTS_CONNECTION"
    assert failure.value.remedy


def test_a_missing_package_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice_module, "find_spec", lambda _: None)
    with pytest.raises(GloveVoiceError, match="not installed"):
        packaged_model()
