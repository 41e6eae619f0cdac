"""Events on a byte stream: whatever a peer sends is an event, an end, or a fault with a name, and never long."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest
from wyoming.asr import Transcript
from wyoming.audio import AudioChunk
from wyoming.event import Event

from agents.base.errors import ConfigError
from audio.pcm import Pcm
from audio.providers.wyoming.link import Address, address_of
from audio.providers.wyoming.offer import Offer
from audio.providers.wyoming.sound import SoundReader, chunks
from audio.providers.wyoming.wire import Limits, WireFault, encoded, parsed, read_event

SMALL = Limits(line=200, data=300, payload=1000)


async def read(data: bytes, limits: Limits = SMALL) -> Event | None:
    reader = asyncio.StreamReader(limit=limits.line)
    reader.feed_data(data)
    reader.feed_eof()
    return await read_event(reader, limits)


async def test_an_event_survives_the_wire() -> None:
    event = Event("audio-chunk", {"rate": 16000, "text": "ü"}, b"\0\1\n{")
    again = await read(encoded(event))
    assert again == event


async def test_older_peers_write_their_data_into_the_line() -> None:
    assert await read(b'{"type": "transcript", "data": {"text": "hi"}}\n') == Event("transcript", {"text": "hi"})
    assert await read(b'{"type": "ping", "data": null, "data_length": null}\n') == Event("ping")


async def test_an_end_between_events_is_no_fault() -> None:
    assert await read(b"") is None


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\xff\xfe\x00\n",
        b"\n",
        b"[1, 2]\n",
        b'"describe"\n',
        b'{"data": {}}\n',
        b'{"type": ""}\n',
        b'{"type": 5}\n',
        b'{"type": "x", "data_length": -1}\n',
        b'{"type": "x", "payload_length": "many"}\n',
        b'{"type": "x", "data": [1]}\n',
        b'{"type": "x", "data_length": 3}\nabc',
        b'{"type": "x", "data_length": 2}\n[]',
        b"[" * 150 + b"\n",
        b"x" * 500,
    ],
)
async def test_garbage_is_a_fault_with_a_name(data: bytes) -> None:
    with pytest.raises(WireFault):
        await read(data)


@pytest.mark.parametrize("what", ["data", "payload"])
async def test_a_length_beyond_the_limit_is_not_waited_for(what: str) -> None:
    with pytest.raises(WireFault, match="too long"):
        await read(json.dumps({"type": "x", f"{what}_length": 10**12}).encode() + b"\n")


async def test_a_line_without_an_end_is_not_read_for_ever() -> None:
    reader = asyncio.StreamReader(limit=SMALL.line)
    reader.feed_data(b'{"type": "' + b"x" * 1000)
    with pytest.raises(WireFault, match="first line"):
        await read_event(reader, SMALL)


@pytest.mark.parametrize("cut", [5, 60])
async def test_an_end_within_an_event_is_a_broken_connection(cut: int) -> None:
    with pytest.raises(ConnectionError):
        await read(encoded(Event("audio-chunk", {"rate": 16000}, b"\0" * 100))[:cut])


@pytest.mark.parametrize("data", [{}, {"text": 5}, {"text": None}, {"text": "a", "context": "b"}])
def test_content_that_is_not_what_its_type_promises_is_a_fault(data: dict[str, object]) -> None:
    with pytest.raises(WireFault, match="transcript"):
        parsed(Transcript, Event("transcript", data))


def test_services_of_all_ages_say_what_they_offer() -> None:
    told = {
        "wake": [{"name": "w", "models": [{"name": "hey_jarvis_v0.1", "languages": None}], "version": None}],
        "tts": None,
    }
    offer = parsed(Offer, Event("info", told))
    assert offer.tts == [] and not offer.streams_speech
    assert [found and found.name for found in map(offer.wake_word, ("hey jarvis", "Hey_Jarvis", "alexa"))] == [
        "hey_jarvis_v0.1",
        "hey_jarvis_v0.1",
        None,
    ]


@pytest.mark.parametrize("url", ["", "localhost:10300", "tcp://host", "http://host:1", "tcp://host:99999", "tcp://:5"])
def test_an_address_that_is_none_names_the_key(url: str) -> None:
    with pytest.raises(ConfigError, match=r"stt\.url"):
        address_of(url, "stt.url")


def test_addresses() -> None:
    assert address_of("tcp://box.local:10300", "x") == Address("box.local", 10300)
    assert str(address_of("tcp://[::1]:10300", "x")) == "[::1]:10300"


def tone(rate_hz: int) -> Pcm:
    return np.rint(8000 * np.sin(2 * np.pi * 440 * np.arange(rate_hz) / rate_hz)).astype(np.int16)


def wire_form(pcm: Pcm, width: int, channels: int) -> bytes:
    """``pcm`` in samples of ``width`` bytes, on all channels."""
    wide = {
        1: lambda: ((pcm.astype(np.int32) >> 8) + 128).astype(np.uint8)[:, None],
        2: lambda: pcm.astype("<i2").view(np.uint8).reshape(-1, 2),
        3: lambda: (pcm.astype("<i4") << 8).view(np.uint8).reshape(-1, 4)[:, :3],
        4: lambda: (pcm.astype("<i4") << 16).view(np.uint8).reshape(-1, 4),
    }[width]()
    return np.repeat(wide[:, None, :], channels, axis=1).tobytes()


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 48_000])
@pytest.mark.parametrize(("width", "channels"), [(2, 1), (2, 2), (1, 1), (3, 1), (4, 2)])
def test_sound_of_any_format_is_heard_alike(rate_hz: int, width: int, channels: int) -> None:
    data = wire_form(tone(rate_hz), width, channels)
    reader = SoundReader(16_000)
    sizes = [1001, 640, 7, 1280]  # also in the middle of samples
    parts, at = [], 0
    while at < len(data):
        size = sizes[len(parts) % 4]
        parts.append(reader.push(AudioChunk(rate_hz, width, channels, data[at : at + size])))
        at += size
    heard = np.concatenate([*parts, reader.flush()]).astype(float)
    wanted = tone(16_000).astype(float)
    assert abs(heard.size - 16_000) <= 2
    inner = slice(500, 15_000)
    assert np.corrcoef(heard[: wanted.size][inner], wanted[: heard.size][inner])[0, 1] > 0.999
    assert 0.97 < heard[inner].std() / wanted[inner].std() < 1.03


@pytest.mark.parametrize(
    ("rate", "width", "channels"),
    [(0, 2, 1), (10**9, 2, 1), (16_000, 0, 1), (16_000, 2, 0), (16_000, 9, 1), (16_000, 2, 99)],
)
def test_sound_that_cannot_be_is_a_fault(rate: int, width: int, channels: int) -> None:
    with pytest.raises(WireFault, match="not understood"):
        SoundReader(16_000).push(AudioChunk(rate, width, channels, b"\0" * 8))


def test_a_stream_may_change_its_format() -> None:
    reader = SoundReader()
    reader.push(AudioChunk(22_050, 2, 1, b"\0\0" * 100))
    assert reader.rate_hz == 22_050
    later = reader.push(AudioChunk(16_000, 2, 2, b"\0" * 64_000))
    assert 15_000 < later.size + reader.flush().size * 1.0 <= 22_100


def test_our_chunks_are_a_tenth_of_a_second_and_say_when() -> None:
    made = list(chunks(tone(16_000)[:4000], 16_000))
    assert [(chunk.samples, chunk.timestamp) for chunk in made] == [(1600, 0), (1600, 100), (800, 200)]
