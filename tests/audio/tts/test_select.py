import asyncio
import shutil

import pytest

from agents.base.errors import ConfigError, GloveVoiceError
from audio.tts import hibari
from audio.tts.base import AudioChunk, TtsAdapter, TtsDone, TtsEvent
from audio.tts.espeak import EspeakVoice
from audio.tts.select import VoiceSelector

needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


async def say(tts: TtsAdapter, text: str) -> list[TtsEvent]:
    events: list[TtsEvent] = []
    tts.events.on(TtsEvent, events.append)
    tts.send_text(text)
    await tts.open()
    tts.send_text(text)
    tts.flush()
    await asyncio.sleep(2)
    await tts.destroy()
    return events


def sound(events: list[TtsEvent]) -> set[int | None]:
    return {event.piece for event in events if isinstance(event, AudioChunk)}


async def test_english_is_spoken_by_hibari() -> None:
    tts = VoiceSelector()("en-US")
    events = await say(tts, "Hello.")
    assert sound(events) == {0, 1}
    assert tts.sample_rate_hz == 24_000
    assert events[-1] == TtsDone()
    assert any(isinstance(event, AudioChunk) and event.words for event in events)


def test_other_languages_are_spoken_by_espeak() -> None:
    assert isinstance(VoiceSelector()("de"), EspeakVoice)
    with pytest.raises(ConfigError):
        VoiceSelector()("--help")


@needs_espeak
async def test_english_goes_on_when_hibari_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> hibari.HibariEngine:
        raise GloveVoiceError("ERR_TTS_CONNECTION", "The English voice is not installed.", "Install it.")

    monkeypatch.setattr(hibari, "shared_engine", fail)
    monkeypatch.setattr(hibari, "_shared", [])
    selector = VoiceSelector()
    tts = selector("en")
    events = await say(tts, "Hello.")
    assert sound(events) == {0, 1}
    assert tts.sample_rate_hz == 22_050
    assert events[-1] == TtsDone()
    assert selector.failures["hibari"].message == "The English voice is not installed."
    assert isinstance(selector("en"), EspeakVoice)
    await selector.warm("en")


async def test_warming_loads_the_voice_before_it_is_needed() -> None:
    selector = VoiceSelector()
    await selector.warm()
    tts = selector("en")
    started = asyncio.get_running_loop().time()
    await tts.open()
    assert asyncio.get_running_loop().time() == started
    assert tts.is_ready
    await tts.destroy()
    assert not tts.is_ready


async def test_destroyed_before_it_was_open_it_stays_silent() -> None:
    tts = VoiceSelector()("en")
    tts.send_text("Hello.")
    await tts.destroy()
    events = await say(tts, "Hello.")
    assert events == []
