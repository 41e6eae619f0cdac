"""The Wyoming server as its clients see it: the ``wyoming`` package's own client, and some that mean no good."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient, AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeVoice
from wyoming.vad import VoiceStarted, VoiceStopped
from wyoming.wake import Detect, Detection, NotDetected

from agents.base.errors import ConfigError, GloveError, GloveVoiceError
from appliance.wyoming.contract import Lent
from appliance.wyoming.recognising import LONGEST_S
from appliance.wyoming.server import MOST_CLIENTS, MOST_PER_ADDRESS, WyomingServer
from appliance.wyoming.speaking import MOST_CHARS
from audio.pcm import Pcm, rms, silence, wire_bytes
from audio.providers.wyoming.link import Address
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.vad.energy import EnergyVad
from audio.wake.scripted import ScriptedWakeDetector
from tests.audio.babble import babble

LOUD = np.full(16_000, 6000, np.int16)
WORDS = ("hey_jarvis", "alexa")

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(60)]


def said(pcm: Pcm) -> str:
    """What the scripted recogniser hears: how much of what."""
    return f"{pcm.size / 16_000:.1f} s, level {rms(pcm):.2f}"


def lent(**others: Any) -> Lent:
    def wake(names: Any) -> ScriptedWakeDetector:
        return ScriptedWakeDetector(lambda frame: bool(frame.any()), names[0].replace("_", " ").title())

    plain = Lent(
        stt=ScriptedSegmentStt(said),
        stt_languages=("en", "de"),
        voices=ScriptedVoice(first_audio_s=0.01),
        voice_languages=("en", "de"),
        vad=EnergyVad,
        wake=wake,
        wake_words=WORDS,
        answer=None,
        version="1",
    )
    return replace(plain, **others)


@asynccontextmanager
async def serving(given: Lent | None = None, **deadlines: float) -> AsyncIterator[tuple[WyomingServer, int]]:
    server = WyomingServer(given or lent(), **deadlines)
    port = await server.open(Address("127.0.0.1", 0))
    try:
        yield server, port
    finally:
        await server.close()
        await server.close()
        assert server.clients == 0


def peer(port: int) -> AsyncClient:
    return AsyncTcpClient("127.0.0.1", port, read_timeout=20)


async def read(client: AsyncClient, kind: Any) -> Any:
    event = await client.read_event()
    assert event is not None and kind.is_type(event.type), event
    return kind.from_event(event)


async def hung_up(client: AsyncClient) -> str:
    """What the server says before it hangs up; it must."""
    words = ""
    while (event := await client.read_event()) is not None:
        if Error.is_type(event.type):
            words = Error.from_event(event).text
    return words


async def play(client: AsyncClient, pcm: bytes, rate: int = 16_000, width: int = 2, channels: int = 1) -> None:
    await client.write_event(AudioStart(rate, width, channels).event())
    for at in range(0, len(pcm), 3200):
        await client.write_event(AudioChunk(rate, width, channels, pcm[at : at + 3200]).event())
    await client.write_event(AudioStop().event())


async def speech_of(client: AsyncClient, last: str = "audio-stop") -> tuple[int, bytes, list[str]]:
    """Rate and sound of what the server says, and the kinds of its events."""
    sound, kinds, rate = b"", list[str](), 0
    while not kinds or kinds[-1] != last:
        event = await client.read_event()
        assert event is not None
        kinds.append(event.type)
        if AudioStart.is_type(event.type):
            rate = AudioStart.from_event(event).rate
        sound += event.payload or b""
    return rate, sound, kinds


async def test_it_says_what_it_offers() -> None:
    async with serving() as (_, port), peer(port) as client:
        await client.write_event(Describe().event())
        info: Info = await read(client, Info)
        assert info.asr[0].models[0].languages == ["en", "de"]
        assert info.tts[0].supports_synthesize_streaming and info.tts[0].voices[0].languages == ["en", "de"]
        assert [model.name for model in info.wake[0].models] == list(WORDS)
        assert info.wake[0].models[0].phrase == "hey jarvis"
        assert info.handle == [] and info.satellite is None
        await client.write_event(Ping(text="there?").event())
        assert await read(client, Pong) == Pong(text="there?")
        await client.write_event(Event("something-of-tomorrow"))
        await client.write_event(Ping().event())
        assert await read(client, Pong) == Pong(), "what is not known is passed over"


async def test_without_a_recogniser_none_is_offered() -> None:
    async with serving(lent(stt=None)) as (_, port), peer(port) as client:
        await client.write_event(Describe().event())
        assert (await read(client, Info)).asr == []
        await client.write_event(Transcribe().event())
        assert "no speech" in await hung_up(client)


@pytest.mark.parametrize(
    ("rate", "width", "channels", "sound"),
    [
        (16_000, 2, 1, wire_bytes(LOUD)),
        (48_000, 2, 2, np.full(96_000, 6000, "<i2").tobytes()),
        (22_050, 2, 1, np.full(22_050, 6000, "<i2").tobytes()),
        (8_000, 1, 1, np.full(8_000, 128 + 23, np.uint8).tobytes()),
        (16_000, 4, 1, np.full(16_000, 6000 << 16, "<i4").tobytes()),
    ],
)
async def test_speech_of_any_format_is_recognised(rate: int, width: int, channels: int, sound: bytes) -> None:
    async with serving() as (_, port), peer(port) as client:
        for _ in range(2):  # also twice over one connection
            await client.write_event(Transcribe(language="en-US").event())
            await play(client, sound, rate, width, channels)
            assert (await read(client, Transcript)).text == "1.0 s, level 0.18"


async def test_a_recogniser_that_fails_is_told_and_the_client_may_go_on() -> None:
    def failing(pcm: Pcm) -> str:
        if pcm.size < 8_000:
            raise GloveVoiceError("ERR_STT_MODEL", "It broke.", "Try again.")
        return said(pcm)

    async with serving(lent(stt=ScriptedSegmentStt(failing))) as (_, port), peer(port) as client:
        await client.write_event(Transcribe().event())
        await play(client, wire_bytes(LOUD[:1000]))
        assert await read(client, Error) == Error("It broke. Try again.", "ERR_STT_MODEL")
        await play(client, wire_bytes(LOUD))
        assert (await read(client, Transcript)).text.startswith("1.0 s")


async def test_text_is_spoken() -> None:
    async with serving() as (_, port), peer(port) as client:
        await client.write_event(Synthesize("Hello there. How are you?", voice=SynthesizeVoice(language="de")).event())
        rate, sound, kinds = await speech_of(client)
        assert kinds[0] == "audio-start" and set(kinds[1:-1]) == {"audio-chunk"}
        assert rate >= 16_000 and len(sound) / 2 / rate > 0.5 and any(sound)
        await client.write_event(Synthesize("…").event())
        assert (await speech_of(client))[2] == ["audio-start", "audio-stop"], "an end without words, too"


async def test_text_that_comes_little_by_little_is_spoken_meanwhile() -> None:
    async with serving() as (_, port), peer(port) as client:
        await client.write_event(SynthesizeStart(voice=SynthesizeVoice(language="en")).event())
        for part in ("The first sen", "tence is here. ", "The sec"):
            await client.write_event(SynthesizeChunk(part).event())
        first = [await client.read_event() for _ in range(3)]
        assert [event and event.type for event in first] == ["audio-start", "audio-chunk", "audio-chunk"]
        await client.write_event(SynthesizeChunk("ond, too.").event())
        await client.write_event(Synthesize("The first sentence is here. The second, too.").event())
        await client.write_event(SynthesizeStop().event())
        _, sound, kinds = await speech_of(client, "synthesize-stopped")
        assert kinds[-2:] == ["audio-stop", "synthesize-stopped"] and "audio-start" not in kinds, "spoken once"
        assert any(sound)


async def test_a_wake_word_is_told_each_time() -> None:
    async with serving() as (_, port), peer(port) as client:
        await client.write_event(Detect(names=["alexa"]).event())
        phrase = wire_bytes(np.concatenate((silence(16_000), LOUD[:8_000], silence(1_600))))
        for _ in range(2):
            await play(client, phrase)
            assert await read(client, Detection) == Detection(name="alexa", timestamp=1510)
        await play(client, wire_bytes(silence(8_000)))
        await read(client, NotDetected)
        await client.write_event(Detect(names=["computer"]).event())
        await play(client, phrase)
        await read(client, NotDetected)


async def test_a_wake_word_that_cannot_be_listened_for_is_told_once() -> None:
    def broken(_: Any) -> ScriptedWakeDetector:
        raise GloveVoiceError("ERR_WAKE_MODEL", "It cannot be loaded.")

    async with serving(lent(wake=broken)) as (_, port), peer(port) as client:
        await client.write_event(Detect().event())
        await play(client, wire_bytes(LOUD))
        assert (await read(client, Error)).code == "ERR_WAKE_MODEL"
        await read(client, NotDetected)


async def test_who_says_nothing_is_told_when_somebody_speaks() -> None:
    sound = np.concatenate((silence(16_000), babble(2.0), silence(24_000)))
    async with serving() as (_, port), peer(port) as client:
        await play(client, wire_bytes(sound))
        started = await read(client, VoiceStarted)
        stopped = await read(client, VoiceStopped)
        assert 900 <= started.timestamp <= 1600 and 2500 <= stopped.timestamp <= 4500


async def test_a_line_is_answered_and_its_conversation_goes_on() -> None:
    async def answer(text: str, language: str | None, conversation: str | None) -> tuple[str, str]:
        if text == "fail":
            raise GloveError("ERR_X", "No answer.")
        return f"{text}? ({language}, {conversation})", conversation or "new"

    async with serving(lent(answer=answer)) as (_, port), peer(port) as client:
        await client.write_event(Describe().event())
        assert (await read(client, Info)).handle[0].models[0].languages == ["en", "de"]
        await client.write_event(Transcript("hello", language="en-US", context={"x": 1}).event())
        assert await read(client, Handled) == Handled("hello? (en, None)", {"x": 1, "conversation_id": "new"})
        await client.write_event(Transcript("and", context={"conversation_id": "new"}).event())
        assert (await read(client, Handled)).text == "and? (None, new)"
        await client.write_event(Transcript("fail").event())
        assert (await read(client, NotHandled)).text == "No answer."


async def test_lines_are_not_answered_unless_that_is_wanted() -> None:
    async with serving() as (_, port), peer(port) as client:
        await client.write_event(Transcript("hello").event())
        assert "answers no lines" in await hung_up(client)


async def test_clients_do_not_hear_each_other() -> None:
    async with serving() as (server, port), peer(port) as one, peer(port) as two:
        for client in (one, two):
            await client.write_event(Transcribe().event())
        await asyncio.gather(play(one, wire_bytes(LOUD[:8000])), play(two, wire_bytes(LOUD[:16_000] // 2)))
        assert (await read(one, Transcript)).text == "0.5 s, level 0.18"
        assert (await read(two, Transcript)).text == "1.0 s, level 0.09"
        assert server.clients == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "JSON"),
        (b'{"type": "transcribe"', ""),
        (json.dumps({"type": "x", "data": {"a": "b" * 20_000}}).encode() + b"\n", "first line"),
        (json.dumps({"type": "x", "data_length": 10**9}).encode() + b"\n", "data is too long"),
        (json.dumps({"type": "audio-chunk", "payload_length": 10**9}).encode() + b"\n", "payload is too long"),
        (b'{"type": "audio-start", "data": {"rate": 5, "width": 2, "channels": 1}}\n', "not understood"),
        (b'{"type": "audio-chunk", "data": {"rate": "x"}}\n', "no proper"),
        (b'{"type": "synthesize", "data": {"text": 5}}\n', "no proper"),
        (b'{"type": "synthesize", "data": {"text": "a", "voice": {"name": 5}}}\n', "no proper"),
        (b'{"type": "detect", "data": {"names": [5]}}\n', "no proper"),
        (b'{"type": "synthesize", "data": {"text": "a", "voice": {"language": "--rm -rf"}}}\n', ""),
    ],
)
async def test_who_talks_nonsense_is_told_and_hung_up_on(data: bytes, words: str) -> None:
    async with serving() as (_, port):
        async with peer(port) as client:
            assert isinstance(client, AsyncTcpClient) and client._writer is not None
            client._writer.write(data)
            if not words:
                client._writer.write_eof()
            assert words in await hung_up(client)
        async with peer(port) as other:
            await other.write_event(Ping().event())
            await read(other, Pong)


async def test_a_text_or_an_utterance_without_end_is_refused() -> None:
    async with serving() as (_, port):
        async with peer(port) as client:
            await client.write_event(Synthesize("a" * (MOST_CHARS + 1)).event())
            assert "longer than" in await hung_up(client)
        async with peer(port) as client:
            await client.write_event(SynthesizeStart().event())
            for _ in range(MOST_CHARS // 100 + 1):
                await client.write_event(SynthesizeChunk("a" * 100).event())
            assert "longer than" in await hung_up(client)
        async with peer(port) as client:
            await client.write_event(Transcribe().event())
            second = AudioChunk(16_000, 2, 1, wire_bytes(LOUD)).event()
            try:
                for _ in range(round(LONGEST_S) + 2):
                    await client.write_event(second)
            except ConnectionError:
                pass
            else:
                assert "longer than" in await hung_up(client)


async def test_who_hangs_up_in_mid_synthesis_costs_nothing_more() -> None:
    voices = ScriptedVoice(first_audio_s=0.01)
    made: list[Any] = []

    def factory(language: str) -> Any:
        made.append(voices(language))
        return made[-1]

    async with serving(lent(voices=factory)) as (server, port):
        async with peer(port) as client:
            await client.write_event(Synthesize("It rains. " * 400).event())
            await read(client, AudioStart)
        await gone(server)
        assert not made[0].is_ready, "the voice was let go"


async def gone(server: WyomingServer) -> None:
    async with asyncio.timeout(20):
        while server.clients:
            await asyncio.sleep(0.01)


async def test_who_does_not_read_is_hung_up_on() -> None:
    async with serving(reads_s=0.3) as (server, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(json.dumps({"type": "describe"}).encode() + b"\n")
        while server.clients == 0:
            await asyncio.sleep(0.01)
        writer.write(b'{"type": "describe"}\n' * 50_000)  # the answers fill every buffer on the way
        await gone(server)
        writer.transport.abort()


@pytest.mark.parametrize("begun", [b"", b'{"type": "audio-chunk", "payload_length": 100}\nabc'])
async def test_who_says_nothing_or_nothing_whole_is_hung_up_on(begun: bytes) -> None:
    async with serving(idle_s=0.3) as (server, port), peer(port) as client:
        assert isinstance(client, AsyncTcpClient) and client._writer is not None
        client._writer.write(begun)
        assert "too long" in await hung_up(client)
        await gone(server)


async def test_there_is_room_for_so_many_and_no_more() -> None:
    async with serving() as (server, port):
        clients = [peer(port) for _ in range(MOST_PER_ADDRESS)]
        for client in clients:
            await client.connect()
            await client.write_event(Ping().event())
            await read(client, Pong)
        with pytest.raises((ConnectionError, AssertionError)):
            async with peer(port) as late:
                await late.write_event(Ping().event())
                await read(late, Pong)
        assert server.clients == MOST_PER_ADDRESS <= MOST_CLIENTS
        await clients[0].disconnect()
        async with asyncio.timeout(5):
            while server.clients == MOST_PER_ADDRESS:
                await asyncio.sleep(0.01)
        async with peer(port) as late:
            await late.write_event(Ping().event())
            await read(late, Pong)
        for client in clients[1:]:
            await client.disconnect()


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.168.1.7", True),
        ("::ffff:192.168.1.7", True),
        ("fe80::1%eth0", True),
        ("192.168.2.7", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
async def test_only_who_is_named_may_come_in(host: str, allowed: bool) -> None:
    server = WyomingServer(lent(), ("192.168.1.0/24", "fe80::1"))
    assert server._may_come_in(host) is allowed


async def test_a_port_in_use_says_so() -> None:
    async with serving() as (_, port):
        with pytest.raises(ConfigError, match=f"{port} is in use") as caught:
            await WyomingServer(lent()).open(Address("127.0.0.1", port))
        assert caught.value.code == "ERR_WYOMING_PORT" and caught.value.remedy
