"""ElevenLabs' voices against a service whose messages are checked with the vendor's own types."""

from __future__ import annotations

import asyncio
import base64
import json
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from agents.base.errors import GloveVoiceError, InputError
from audio.heard import HeardTracker
from audio.providers.elevenlabs.tts import ElevenLabsVoices
from audio.providers.socket import ConnectionRefused
from audio.providers.socket_tts import SocketTts
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault
from tests.audio.providers.fake_elevenlabs import FakeVoices
from tests.audio.providers.sockets import collect

KEY = "sk_very-secret-key"
RATE_HZ = 24_000


def voice(service: FakeVoices, language: str = "en", **options: object) -> SocketTts:
    return ElevenLabsVoices(KEY, dial=service.dial, **options)(language)  # type: ignore[arg-type]


def told(service: FakeVoices) -> list[dict[str, object]]:
    return [json.loads(message) for message in service.connection.sent]


async def test_text_goes_out_sentence_by_sentence_and_is_spoken_at_once() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    tts.send_text("Good morning.")
    await asyncio.sleep(0.3)
    assert any(isinstance(event, AudioChunk) for event in events), "the first sentence does not wait for the second"
    tts.send_text("How are you?")
    tts.flush()
    await asyncio.sleep(1)
    begin, first, second, end = told(service)
    assert begin == {
        "text": " ",
        "voice_settings": {"stability": 0.5, "similarity_boost": 0.8, "speed": 1.0},
        "generation_config": {"chunk_length_schedule": [60, 120, 160, 250]},
    }
    assert first == {"text": "Good morning. ", "flush": True}
    assert second == {"text": "How are you? ", "flush": True}
    assert end == {"text": ""}
    assert [event for event in events if not isinstance(event, AudioChunk)] == [PieceDone(0), PieceDone(1), TtsDone()]
    assert service.connection.closed_by_client
    await tts.destroy()


async def test_it_asks_for_the_voice_the_model_and_the_times_of_characters() -> None:
    service = FakeVoices()
    tts = voice(service, "de-AT", voice="some/voice", rate_hz=16_000)
    await tts.open()
    url = urlsplit(service.connection.target.url)
    assert url[:3] == ("wss", "api.elevenlabs.io", "/v1/text-to-speech/some%2Fvoice/stream-input")
    assert dict(parse_qsl(url.query)) == {
        "model_id": "eleven_turbo_v2_5",
        "output_format": "pcm_16000",
        "sync_alignment": "true",
        "language_code": "de",
    }
    assert service.connection.target.headers == {"xi-api-key": KEY}
    assert tts.sample_rate_hz == 16_000
    await tts.destroy()


async def test_a_short_reply_sent_before_the_handshake_is_spoken() -> None:
    """The end of the text must not be lost because the connection was not there yet."""
    service = FakeVoices()
    tts = voice(service)
    done = collect(tts.events, TtsDone)
    tts.send_text("Yes.")
    tts.flush()
    await tts.open()
    await asyncio.sleep(1)
    assert len(done) == 1
    assert [message["text"] for message in told(service)] == [" ", "Yes. ", ""]
    await tts.destroy()


async def test_words_are_timed_to_the_sample() -> None:
    """Three words of 50 ms a character, cut into chunks in mid-word: heard is what has ended."""
    service = FakeVoices(chunk_chars=5)
    tts = voice(service)
    await tts.open()
    chunks = collect(tts.events, AudioChunk)
    tracker = HeardTracker()
    tracker.add_piece(0, "Good morning everybody.")
    tts.events.on(AudioChunk, lambda chunk: tracker.add_audio(chunk.piece or 0, chunk.pcm.size, chunk.words))
    tts.send_text("Good morning everybody.")
    tts.flush()
    await asyncio.sleep(1)
    words = [word for chunk in chunks for word in chunk.words or ()]
    char = 50 * RATE_HZ // 1000
    assert [(word.word, word.start, word.end) for word in words] == [
        ("Good", 0, 4 * char),
        ("morning", 5 * char, 12 * char),
        ("everybody.", 13 * char, 23 * char),
    ]
    assert tracker.heard(4 * char - 1) == ""
    assert tracker.heard(4 * char) == "Good"
    assert tracker.heard(12 * char + 3) == "Good morning"
    await tts.destroy()


async def test_sound_that_says_two_sentences_is_divided_between_them() -> None:
    service = FakeVoices(chunk_chars=1000)
    tts = voice(service)
    await tts.open()
    chunks, done = collect(tts.events, AudioChunk), collect(tts.events, PieceDone)
    service.speak = lambda connection: None  # type: ignore[method-assign]
    tts.send_text("One two.")
    tts.send_text("...")
    tts.send_text("Three.")
    await asyncio.sleep(0.1)
    service.connection.push(service.chunk(" One two. Three. "))
    await asyncio.sleep(0.1)
    char = 50 * RATE_HZ // 1000
    assert [(chunk.piece, chunk.pcm.size) for chunk in chunks] == [(0, 10 * char), (2, 7 * char)]
    assert [(word.word, word.start) for word in chunks[1].words or ()] == [("Three.", 0)]
    assert done == [PieceDone(0), PieceDone(1)]
    await tts.destroy()


async def test_without_times_the_sound_still_comes() -> None:
    service = FakeVoices(aligned=False)
    tts = voice(service)
    await tts.open()
    chunks, done = collect(tts.events, AudioChunk), collect(tts.events, TtsDone)
    tts.send_text("Hello.")
    tts.flush()
    await asyncio.sleep(1)
    assert sum(chunk.pcm.size for chunk in chunks) == len("Hello. ") * 50 * RATE_HZ // 1000
    assert all(chunk.words is None for chunk in chunks) and len(done) == 1
    await tts.destroy()


async def test_a_response_of_nothing_but_marks_ends() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    tts.send_text(" … ")
    tts.flush()
    await asyncio.sleep(1)
    assert events == [PieceDone(0), TtsDone()]
    await tts.destroy()


async def test_a_model_that_thinks_for_a_minute_does_not_lose_the_voice() -> None:
    """The service gives up after 20 s without text; a space every 8 s makes no sound."""
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    faults, chunks = collect(tts.events, TtsFault), collect(tts.events, AudioChunk)
    tts.send_text("One moment.")
    await asyncio.sleep(60)
    before = sum(chunk.pcm.size for chunk in chunks)
    spaces = [message for message in told(service)[1:] if message == {"text": " "}]
    assert 6 <= len(spaces) <= 8
    assert not faults and before == len("One moment. ") * 50 * RATE_HZ // 1000
    tts.flush()
    await asyncio.sleep(60)
    assert told(service)[-1] == {"text": ""}, "nothing follows the end"
    await tts.destroy()


async def test_the_end_of_the_connection_is_the_end_if_all_was_asked_for() -> None:
    service = FakeVoices()
    service.final = False
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    tts.send_text("Hello.")
    tts.flush()
    await asyncio.sleep(0.5)
    service.connection.drop(1000)
    await asyncio.sleep(0.1)
    assert [event.type for event in events][-2:] == ["piece_done", "done"]
    await tts.destroy()


async def test_the_end_of_the_connection_in_mid_text_is_a_fault() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    tts.send_text("Hello.")
    await asyncio.sleep(0.5)
    service.connection.drop(1011, "internal error")
    await asyncio.sleep(0.1)
    fault = events[-1]
    assert isinstance(fault, TtsFault) and isinstance(fault.error, GloveVoiceError)
    assert fault.error.code == "ERR_TTS_DISCONNECTED" and "1011" in str(fault.error)
    assert not any(isinstance(event, TtsDone) for event in events)
    await tts.destroy()


async def test_an_end_before_any_sound_says_why() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    faults = collect(tts.events, TtsFault)
    tts.send_text("Hello.")
    tts.flush()
    service.connection.drop(1008, f"invalid key {KEY}")
    await asyncio.sleep(0.1)
    assert len(faults) == 1
    assert faults[0].error.code == "ERR_TTS_CONNECTION"
    assert "1008" in str(faults[0].error) and KEY not in str(faults[0].error)
    await tts.destroy()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("quota_exceeded", "ERR_TTS_LIMIT"),
        ("invalid_api_key", "ERR_TTS_AUTH"),
        ("voice_not_found", "ERR_TTS_REQUEST"),
        ("input_timeout_exceeded", "ERR_TTS_CONNECTION"),
        ("of_the_future", "ERR_TTS_REQUEST"),
    ],
)
async def test_a_complaint_of_the_service_ends_the_response(error: str, code: str) -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    service.connection.push(json.dumps({"message": f"No: {KEY}", "error": error, "code": 1008}))
    await asyncio.sleep(0.1)
    service.connection.push(service.chunk("late"))
    await asyncio.sleep(0.1)
    assert [event.type for event in events] == ["error"]
    assert events[0].error.code == code and KEY not in str(events[0].error)
    await tts.destroy()


async def test_destroyed_in_mid_sentence_it_is_silent_at_once() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    tts.send_text("A long sentence that nobody wants to hear any more.")
    await asyncio.sleep(0.05)
    events = collect(tts.events, TtsEvent)
    await tts.destroy()
    await tts.destroy()
    tts.send_text("ignored")
    tts.flush()
    await asyncio.sleep(5)
    assert events == [] and not tts.is_ready
    assert service.connection.closed_by_client


async def test_destroyed_during_the_handshake_leaves_no_connection() -> None:
    service = FakeVoices()
    tts = voice(service)
    opening = asyncio.create_task(tts.open())
    await asyncio.sleep(0.1)
    await tts.destroy()
    await opening
    assert service.connection.closed_by_client and not tts.is_ready


async def test_a_listener_may_destroy_the_voice() -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    chunks = collect(tts.events, AudioChunk)
    leaving: list[asyncio.Task[None]] = []
    tts.events.on(AudioChunk, lambda _: leaving.append(asyncio.get_running_loop().create_task(tts.destroy())))
    tts.send_text("A sentence in several chunks of sound, which is cut.")
    await asyncio.sleep(1)
    assert leaving[0].done() and service.connection.closed_by_client
    assert len(chunks) < 5


async def test_odd_pieces_of_sound_make_no_noise() -> None:
    """Sound may be cut in the middle of a sample."""
    import base64

    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    chunks = collect(tts.events, AudioChunk)
    sound = np.arange(1, 1001, dtype="<i2").tobytes()
    for part in (sound[:333], sound[333:334], sound[334:]):
        service.connection.push(json.dumps({"audio": base64.b64encode(part).decode()}))
    service.connection.push(json.dumps({"audio": "not base64!"}))
    await asyncio.sleep(0.1)
    assert np.array_equal(np.concatenate([chunk.pcm for chunk in chunks]), np.arange(1, 1001))
    await tts.destroy()


async def test_a_refused_handshake_is_raised() -> None:
    service = FakeVoices()
    service.refusals = [ConnectionRefused(401, "no")]
    tts = voice(service)
    with pytest.raises(GloveVoiceError) as caught:
        await tts.open()
    assert caught.value.code == "ERR_TTS_AUTH" and "ELEVENLABS_API_KEY" in (caught.value.remedy or "")
    await tts.destroy()


async def test_more_text_than_a_response_can_have_is_refused() -> None:
    tts = voice(FakeVoices())
    with pytest.raises(InputError, match="characters"):
        tts.send_text("a" * 1_000_001)
    tts.flush()
    with pytest.raises(RuntimeError, match="after its flush"):
        tts.send_text("more")
    await tts.destroy()


def test_a_rate_that_the_service_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="12345 Hz"):
        ElevenLabsVoices(KEY, rate_hz=12_345)
    with pytest.raises(ValueError, match="key"):
        ElevenLabsVoices()


@pytest.mark.parametrize(
    "times",
    [
        {"chars": ["a"], "charStartTimesMs": [None], "charDurationsMs": [1]},
        {"chars": ["a"], "charStartTimesMs": ["soon"], "charDurationsMs": [1]},
        {"chars": ["a"], "charStartTimesMs": [float("nan")], "charDurationsMs": [1]},
        {"chars": ["a"], "charStartTimesMs": [0], "charDurationsMs": [1e300]},
        {"chars": ["a"], "charStartTimesMs": [-5], "charDurationsMs": [1]},
        {"chars": "a", "charStartTimesMs": 0, "charDurationsMs": 1},
        [1],
    ],
)
async def test_sound_whose_times_are_no_times_is_spoken(times: object) -> None:
    service = FakeVoices()
    sound = base64.b64encode(np.full(2_400, 100, "<i2").tobytes()).decode()
    service.chunk = lambda text: json.dumps({"audio": sound, "alignment": times})  # type: ignore[method-assign]
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    tts.send_text("Hi.")
    tts.flush()
    await asyncio.sleep(5)
    assert sum(event.pcm.size for event in events if isinstance(event, AudioChunk)) == 2_400
    assert events[-1] == TtsDone()
    await tts.destroy()


@pytest.mark.parametrize("odd", ["[" * 200_000, '{"audio": "\u00e4"}', '{"audio": "A"}', '{"audio": 5}', b"\xff"])
async def test_a_message_that_makes_no_sense_does_not_cost_the_reply(odd: str | bytes) -> None:
    service = FakeVoices()
    tts = voice(service)
    await tts.open()
    events = collect(tts.events, TtsEvent)
    service.connection.push(odd)
    tts.send_text("Hi.")
    tts.flush()
    await asyncio.sleep(5)
    assert any(isinstance(event, AudioChunk) for event in events) and events[-1] == TtsDone()
    await tts.destroy()
