import asyncio

import numpy as np
import pytest

from agents.base.clock import now
from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault
from audio.tts.scripted import Fault, ScriptedTts, ScriptedVoice, tone_hz


def record(tts: ScriptedTts) -> list[tuple[float, TtsEvent]]:
    events: list[tuple[float, TtsEvent]] = []
    tts.events.on(TtsEvent, lambda event: events.append((round(now(), 4), event)))
    return events


def pitch(pcm: Pcm) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(pcm, 24_000))))


async def test_tones_arrive_at_the_pace_of_the_settings() -> None:
    tts = ScriptedTts(ScriptedVoice())
    events = record(tts)
    tts.send_text("Hello big — world. ")
    tts.send_text("😀")
    tts.flush()
    await tts.open()
    await asyncio.sleep(2)
    chunks = [(t, event) for t, event in events if isinstance(event, AudioChunk)]
    assert [t for t, _ in chunks] == pytest.approx([0.12 + 0.02 * k for k in range(8)])
    sound = np.concatenate([event.pcm for _, event in chunks])
    words = chunks[0][1].words
    assert words is not None
    assert [(w.word, w.start, w.end) for w in words] == [
        ("Hello", 0, 5280),
        ("big", 6000, 11280),
        ("world.", 12000, 17280),
    ]
    assert [pitch(sound[w.start : w.end]) for w in words] == [tone_hz(k) for k in range(3)]
    assert not sound[5280:6000].any()
    assert [event for _, event in events[-3:]] == [PieceDone(0), PieceDone(1), TtsDone()]


async def test_a_vocabulary_gives_words_their_place() -> None:
    tts = ScriptedTts(ScriptedVoice(vocabulary=("red", "green", "blue"), word_timings=False))
    speech = await tts.render("Blue, red pink")
    assert speech.words is None
    assert [pitch(speech.pcm[k * 6000 : k * 6000 + 5280]) for k in range(3)] == [tone_hz(k) for k in (2, 0, 3)]


@pytest.mark.parametrize(("fault", "sounds"), [("before_audio", 0), ("after_first_audio", 1)])
async def test_faults_come_once_and_end_everything(fault: Fault, sounds: int) -> None:
    tts = ScriptedTts(ScriptedVoice(fault=fault))
    events = record(tts)
    await tts.open()
    tts.send_text("One two. ")
    tts.send_text("Three.")
    tts.flush()
    await asyncio.sleep(5)
    kinds = [event.type for _, event in events]
    assert kinds == ["audio_chunk"] * sounds + ["error"]
    failure = events[-1][1]
    assert isinstance(failure, TtsFault)
    assert isinstance(failure.error, GloveVoiceError)
    assert failure.error.code == "ERR_TTS_SYNTHESIS"


async def test_a_voice_that_never_sounds() -> None:
    tts = ScriptedTts(ScriptedVoice(fault="silent"))
    events = record(tts)
    await tts.open()
    tts.send_text("One two. ")
    tts.flush()
    await asyncio.sleep(60)
    assert events == []
    await tts.destroy()


async def test_a_slow_and_a_failing_open() -> None:
    slow = ScriptedTts(ScriptedVoice(open_s=3.0))
    await slow.open()
    assert now() == pytest.approx(3.0)
    assert slow.is_ready
    with pytest.raises(GloveVoiceError, match="told not to open"):
        await ScriptedTts(ScriptedVoice(fault="open")).open()


async def test_wrong_use_raises() -> None:
    voice = ScriptedVoice()
    tts = voice("en")
    await tts.open()
    tts.send_text("One.")
    tts.flush()
    with pytest.raises(RuntimeError):
        tts.flush()
    with pytest.raises(RuntimeError):
        tts.send_text("late")
    with pytest.raises(RuntimeError):
        await tts.open()
    await tts.destroy()
    await tts.destroy()
    with pytest.raises(RuntimeError):
        tts.send_text("dead")
    assert [made.texts for made in voice.made] == [["One."]]
    assert voice.made[0].destroyed


async def test_destroy_silences_at_once() -> None:
    tts = ScriptedTts(ScriptedVoice())
    events = record(tts)
    await tts.open()
    tts.send_text("one two three four five six seven eight")
    await asyncio.sleep(0.15)
    heard = len(events)
    assert heard == 2
    await tts.destroy()
    await asyncio.sleep(5)
    assert len(events) == heard
