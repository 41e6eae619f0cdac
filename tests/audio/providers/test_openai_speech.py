"""OpenAI's transcriptions and speech against a server that checks everything with the vendor's own types."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm, silence
from audio.providers.openai_compatible.client import SpeechServer
from audio.providers.openai_compatible.stt import OpenAiStt
from audio.providers.openai_compatible.tts import OpenAiVoices
from audio.stt.base import Transcript
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault
from tests.agents.models.fake_server import Answer
from tests.audio.providers import fake_speech_server as fake
from tests.audio.providers.fake_speech_server import FakeSpeechServer
from tests.audio.providers.sockets import collect

KEY = "sk-very-secret-key"
SPEECH = (3000 * np.sin(np.arange(16_000) / 10)).astype(np.int16)


async def transcribed(*answers: Answer, pcm: Pcm = SPEECH, language: str | None = None, model: str = "") -> Transcript:
    async with FakeSpeechServer(list(answers)).running() as peer:
        server = SpeechServer(KEY, base_url=peer.url)
        try:
            return await OpenAiStt(server, model).recognise(pcm, language)
        finally:
            await server.close()


async def test_a_sentence_is_recognised() -> None:
    async with FakeSpeechServer([fake.heard(" Turn on the light. ")]).running() as peer:
        server = SpeechServer(KEY, base_url=peer.url)
        stt = OpenAiStt(server, "gpt-transcribe")
        assert await stt.recognise(SPEECH, "de-AT") == Transcript("Turn on the light.", "de")
        assert peer.headers[0]["authorization"] == f"Bearer {KEY}"
        body = peer.bodies[0]
        assert np.array_equal(fake.sound(body), SPEECH), "the server hears what was said, sample by sample"
        assert (body["model"], body["language"], body["response_format"]) == ("gpt-transcribe", "de", "json")
        await server.close()


async def test_a_server_of_ones_own_needs_no_key_and_no_model_name() -> None:
    async with FakeSpeechServer([fake.heard_in_detail("Hello.")]).running() as peer:
        server = SpeechServer(base_url=peer.url)
        heard = await OpenAiStt(server).recognise(SPEECH)
        assert heard == Transcript("Hello.", "en", pytest.approx(-0.2), 0.01)  # type: ignore[arg-type]
        body = peer.bodies[0]
        assert (body["model"], body["response_format"]) == ("whisper-1", "verbose_json")
        assert "language" not in body
        await server.close()


@pytest.mark.parametrize(
    ("named", "tag"), [("german", "de"), ("Japanese", "ja"), ("fr", "fr"), ("es-ES", "es"), ("klingonese", "en")]
)
async def test_the_language_heard_is_told(named: str, tag: str) -> None:
    assert (await transcribed(fake.heard_in_detail("…", named))).language == tag


async def test_languages_of_newer_models_are_understood() -> None:
    heard = await transcribed(fake.heard("Bonjour.", languages=[{"code": "fr"}]), model="gpt-transcribe")
    assert heard == Transcript("Bonjour.", "fr")


async def test_whispers_words_for_silence_are_no_words() -> None:
    heard = await transcribed(fake.heard_in_detail("Thank you.", no_speech_prob=0.9, avg_logprob=-1.3))
    assert heard.text == ""
    heard = await transcribed(fake.heard_in_detail("Thank you.", no_speech_prob=0.9, avg_logprob=-0.3))
    assert heard.text == "Thank you."


async def test_nothing_is_not_sent_to_anybody() -> None:
    for pcm in (silence(0), silence(16_000), SPEECH[:100]):
        assert (await transcribed(pcm=pcm)).text == ""


async def test_a_busy_server_is_asked_again() -> None:
    assert (await transcribed(fake.refused(429, "slow down"), fake.heard_in_detail("Yes."))).text == "Yes."


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([fake.refused(401, f"bad key {KEY}", "invalid_api_key")], "ERR_STT_AUTH"),
        ([fake.refused(429, "quota"), fake.refused(429, "quota")], "ERR_STT_LIMIT"),
        ([fake.refused(503, "down"), fake.refused(500, "down")], "ERR_STT_CONNECTION"),
        ([fake.refused(404, "no such model", "model_not_found")], "ERR_STT_REQUEST"),
        ([Answer(silent=True), Answer(silent=True)], "ERR_STT_CONNECTION"),
        ([Answer(body={"tokens": 5})], "ERR_STT_REQUEST"),
        ([Answer(body=[1, 2])], "ERR_STT_REQUEST"),
    ],
)
async def test_a_failure_says_what_to_do(answers: list[Answer], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GloveVoiceError) as caught:
        await transcribed(*answers)
    assert caught.value.code == code
    assert caught.value.remedy
    out = capsys.readouterr()
    assert KEY not in str(caught.value) + out.out + out.err
    assert caught.value.__cause__ is None, "the SDK's exception carries the request and the key"


async def test_nobody_there_is_a_fault_with_a_name() -> None:
    server = SpeechServer(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(GloveVoiceError) as caught:
        await OpenAiStt(server, retries=0).recognise(SPEECH)
    assert caught.value.code == "ERR_STT_CONNECTION"
    await server.close()


async def test_programs_without_a_loop_can_ask_too() -> None:
    async with FakeSpeechServer([fake.heard_in_detail("Hello.")]).running() as peer:
        stt = OpenAiStt(SpeechServer(base_url=peer.url))
        heard = await asyncio.get_running_loop().run_in_executor(None, stt.transcribe, SPEECH)
        assert heard.text == "Hello."
        stt.close()
        stt.close()


async def speak(peer: FakeSpeechServer, *pieces: str) -> list[TtsEvent]:
    server = SpeechServer(KEY, base_url=peer.url)
    voice = OpenAiVoices(server)("en")
    events = collect(voice.events, TtsEvent)
    ended = asyncio.Event()
    voice.events.on(TtsDone, lambda _: ended.set())
    voice.events.on(TtsFault, lambda _: ended.set())
    await voice.open()
    for piece in pieces:
        voice.send_text(piece)
    voice.flush()
    await ended.wait()
    await voice.destroy()
    await server.close()
    return events


async def test_sentences_are_spoken_while_they_arrive() -> None:
    first, second = np.arange(24_000, dtype=np.int16), np.arange(-500, 500, dtype=np.int16)
    async with FakeSpeechServer([fake.spoken(first, piece=777), fake.spoken(second)]).running() as peer:
        events = await speak(peer, "Good morning.", "How are you?")
        chunks = [event for event in events if isinstance(event, AudioChunk)]
        for piece, pcm in enumerate((first, second)):
            heard = np.concatenate([chunk.pcm for chunk in chunks if chunk.piece == piece])
            assert np.array_equal(heard, pcm), "every sample once, whatever the pieces it came in"
        assert len(chunks) > 5
        others = [event for event in events if not isinstance(event, AudioChunk)]
        assert others == [PieceDone(0), PieceDone(1), TtsDone()]
        assert peer.bodies[0] == {
            "model": "tts-1",
            "voice": "alloy",
            "input": "Good morning.",
            "response_format": "pcm",
        }


async def test_a_busy_voice_is_asked_again() -> None:
    async with FakeSpeechServer([fake.refused(503, "busy"), fake.spoken(SPEECH)]).running() as peer:
        events = await speak(peer, "Hello.")
        assert isinstance(events[-1], TtsDone)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (fake.refused(401, f"bad key {KEY}"), "ERR_TTS_AUTH"),
        (fake.refused(404, "no such voice"), "ERR_TTS_REQUEST"),
        (Answer([b"RIFF....WAVE"]), "ERR_TTS_REQUEST"),
        (Answer([b'{"error": "?"}']), "ERR_TTS_REQUEST"),
        (Answer(body=["no sound"]), "ERR_TTS_REQUEST"),
        (Answer([]), "ERR_TTS_CONNECTION"),
        (Answer([bytes(4000)], drop=True), "ERR_TTS_CONNECTION"),
    ],
)
async def test_a_voice_that_fails_says_what_to_do(answer: Answer, code: str) -> None:
    async with FakeSpeechServer([answer]).running() as peer:
        events = await speak(peer, "Hello.", "Never said.")
    fault = events[-1]
    assert isinstance(fault, TtsFault) and isinstance(fault.error, GloveVoiceError)
    assert fault.error.code == code and fault.error.remedy
    assert KEY not in str(fault.error)


async def test_destroyed_in_mid_sentence_the_server_is_left_alone() -> None:
    async with FakeSpeechServer([Answer([bytes(48_000)], hang=True)]).running() as peer:
        server = SpeechServer(KEY, base_url=peer.url)
        voice = OpenAiVoices(server)("en")
        begun = asyncio.Event()
        voice.events.on(AudioChunk, lambda _: begun.set())
        await voice.open()
        voice.send_text("A long sentence.")
        await begun.wait()
        events = collect(voice.events, TtsEvent)
        await voice.destroy()
        await peer.client_left.wait()
        assert events == []
        await server.close()


async def test_a_page_is_not_played_as_noise() -> None:
    """Whoever signs in to a network gets its page for every request."""
    page = Answer([b"<!DOCTYPE html><title>Welcome</title>" + b"x" * 4000])
    async with FakeSpeechServer([page], stream_type="text/html; charset=utf-8").running() as peer:
        (fault,) = await speak(peer, "Hello.")
    assert isinstance(fault, TtsFault) and isinstance(fault.error, GloveVoiceError)
    assert fault.error.code == "ERR_TTS_REQUEST"


@pytest.mark.parametrize("stream_type", ["audio/pcm", "text/html"])
async def test_sound_is_sound_whatever_its_first_byte_and_its_type(stream_type: str) -> None:
    pcm = np.concatenate((np.array([ord("{")], np.int16), SPEECH[:4000]))
    async with FakeSpeechServer([fake.spoken(pcm)], stream_type=stream_type).running() as peer:
        events = await speak(peer, "Hello.")
    sound = np.concatenate([event.pcm for event in events if isinstance(event, AudioChunk)])
    assert np.array_equal(sound, pcm) and events[-1] == TtsDone()


@pytest.mark.parametrize("odd", [{"segments": 5}, {"segments": [1, None]}, {"languages": 5}, {"language": {"a": 1}}])
async def test_a_text_with_odd_figures_beside_it_is_a_text(odd: dict[str, object]) -> None:
    assert (await transcribed(Answer(body={"text": "Hello.", **odd}))).text == "Hello."
