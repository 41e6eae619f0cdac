"""Where the first voice fails, the second goes on with what is left."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.errors import GloveError, GloveVoiceError
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsEvent, TtsFault
from audio.tts.fallback import FallbackTts
from audio.tts.scripted import ScriptedTts, ScriptedVoice


def events_of(tts: TtsAdapter) -> list[TtsEvent]:
    events: list[TtsEvent] = []
    tts.events.on(TtsEvent, events.append)
    return events


async def say(voices: FallbackTts, *pieces: str) -> list[TtsEvent]:
    tts = voices("en")
    events = events_of(tts)
    await tts.open()
    for piece in pieces:
        tts.send_text(piece)
    tts.flush()
    await asyncio.sleep(60)
    await tts.destroy()
    return events


def words(events: list[TtsEvent]) -> list[tuple[int | None, str]]:
    return [(e.piece, word.word) for e in events if isinstance(e, AudioChunk) for word in e.words or ()]


async def test_in_good_health_the_first_alone_speaks() -> None:
    first, second = ScriptedVoice(), ScriptedVoice()
    events = await say(FallbackTts(first, second), "Good morning.", "How are you?")
    assert events[-1] == TtsDone() and not second.made
    assert [event for event in events if isinstance(event, PieceDone)] == [PieceDone(0), PieceDone(1)]


@pytest.mark.parametrize("fault", ["open", "before_audio", "silent"])
async def test_a_voice_that_says_nothing_is_replaced(fault: str) -> None:
    told: list[GloveError] = []
    first, second = ScriptedVoice(fault=fault), ScriptedVoice()  # type: ignore[arg-type]
    events = await say(FallbackTts(first, second, on_trouble=told.append), "Good morning.", "How are you?")
    assert words(events) == [(0, "Good"), (0, "morning."), (1, "How"), (1, "are"), (1, "you?")]
    assert [event for event in events if not isinstance(event, AudioChunk)] == [PieceDone(0), PieceDone(1), TtsDone()]
    assert first.made[0].destroyed and len(told) == 1


async def test_a_voice_that_takes_for_ever_to_open_is_replaced() -> None:
    first, second = ScriptedVoice(open_s=100), ScriptedVoice()
    assert words(await say(FallbackTts(first, second), "Hello."))


async def test_a_sentence_broken_off_is_finished_from_the_next_word() -> None:
    """0.3 s of sound hold one word of 0.22 s; the times of the others come behind that sound, at the new rate."""
    first = ScriptedVoice(fault="after_first_audio", chunk_ms=300)
    second = ScriptedVoice(rate_hz=16_000)
    events = await say(FallbackTts(first, second), "One two three.", "Four.")
    assert second.made[0].texts == ["two three.", "Four."]
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    assert [(word.word, word.start) for word in chunks[1].words or ()] == [("two", 4_800), ("three.", 8_800)]
    assert [event for event in events if isinstance(event, PieceDone)] == [PieceDone(0), PieceDone(1)]
    assert [chunk.piece for chunk in chunks] == sorted(chunk.piece or 0 for chunk in chunks)


async def test_without_word_times_a_broken_sentence_is_said_again() -> None:
    first, second = ScriptedVoice(fault="after_first_audio", word_timings=False), ScriptedVoice(rate_hz=16_000)
    tts = FallbackTts(first, second)("en")
    chunks: list[tuple[int | None, int]] = []
    tts.events.on(AudioChunk, lambda chunk: chunks.append((chunk.piece, tts.sample_rate_hz)))
    await tts.open()
    tts.send_text("One two three.")
    tts.flush()
    await asyncio.sleep(60)
    assert second.made[0].texts == ["One two three."]
    assert chunks[0] == (0, 24_000) and chunks[-1] == (0, 16_000), "the rate is that of the voice that speaks"
    await tts.destroy()


async def test_text_goes_on_after_the_change() -> None:
    first, second = ScriptedVoice(fault="before_audio"), ScriptedVoice()
    tts = FallbackTts(first, second)("en")
    events = events_of(tts)
    await tts.open()
    tts.send_text("One.")
    await asyncio.sleep(5)
    tts.send_text("Two.")
    tts.flush()
    await asyncio.sleep(5)
    assert words(events) == [(0, "One."), (1, "Two.")] and events[-1] == TtsDone()
    await tts.destroy()


async def test_a_model_that_thinks_between_sentences_is_not_the_voices_fault() -> None:
    first, second = ScriptedVoice(), ScriptedVoice()
    tts = FallbackTts(first, second)("en")
    events = events_of(tts)
    await tts.open()
    await asyncio.sleep(60)
    tts.send_text("One.")
    await asyncio.sleep(60)
    tts.send_text("Two.")
    tts.flush()
    await asyncio.sleep(5)
    assert events[-1] == TtsDone() and not second.made
    await tts.destroy()


async def test_after_trouble_the_first_rests_then_is_tried_again() -> None:
    first, second = ScriptedVoice(fault="open"), ScriptedVoice()
    voices = FallbackTts(first, second)
    tts = voices("en")
    await tts.open()
    await tts.destroy()
    again = voices("en")
    await again.open()
    assert len(first.made) == 1, "it is not asked while it rests"
    await again.destroy()
    await asyncio.sleep(10)
    first.fault = None
    assert words(await say(voices, "Hello.")) == [(0, "Hello.")]
    assert len(first.made) == 2 and len(second.made) == 2


async def test_when_both_fail_it_is_said_once() -> None:
    voices = FallbackTts(ScriptedVoice(fault="before_audio"), ScriptedVoice(fault="open"))
    events = await say(voices, "Hello.")
    assert [type(event) for event in events] == [TtsFault]


class OddVoice(ScriptedTts):
    """Cannot be opened, and says so with what no voice should raise."""

    async def prepare(self) -> None:
        raise OSError("no device")


def odd(language: str) -> OddVoice:
    return OddVoice(ScriptedVoice(), language)


async def test_a_first_that_fails_in_an_odd_way_is_replaced_all_the_same() -> None:
    assert words(await say(FallbackTts(odd, ScriptedVoice()), "Hello.")) == [(0, "Hello.")]


async def test_a_second_that_fails_in_an_odd_way_is_a_fault_and_not_a_silence() -> None:
    (event,) = await say(FallbackTts(ScriptedVoice(fault="before_audio"), odd), "Hello.")
    assert isinstance(event, TtsFault) and isinstance(event.error, GloveVoiceError)


async def test_destroyed_it_is_silent() -> None:
    tts = FallbackTts(ScriptedVoice(fault="silent"), ScriptedVoice())("en")
    await tts.open()
    tts.send_text("Hello.")
    events = events_of(tts)
    await tts.destroy()
    await tts.destroy()
    await asyncio.sleep(60)
    assert events == [] and not tts.is_ready
