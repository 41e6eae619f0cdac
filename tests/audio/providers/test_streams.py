"""Deepgram's and Cartesia's recognisers; what all sessions have in common is shown with Scribe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest

from audio.providers.cartesia.stt import CartesiaStt
from audio.providers.deepgram.stt import DeepgramStt
from audio.providers.socket_stt import SocketStt
from audio.stt.base import StreamingStt, SttClosed, SttEvent, SttFault, SttFinal, SttPartial
from audio.stt.conformance import check_streaming_stt
from tests.audio.providers.fake_streams import FakeCartesia, FakeDeepgram, FakeStream
from tests.audio.providers.sockets import collect

KEY = "sk_very-secret-key"
BOTH = [(DeepgramStt, FakeDeepgram), (CartesiaStt, FakeCartesia)]


async def heard(stt: SocketStt) -> list[SttEvent]:
    """What comes of a second of speech."""
    events = collect(stt.events, SttEvent)
    for _ in range(100):
        stt.send_audio(np.full(160, 300, np.int16))
        await asyncio.sleep(0.01)
    stt.flush_utterance()
    await asyncio.sleep(2)
    return events


@pytest.mark.parametrize(("kind", "service"), BOTH)
async def test_it_conforms(kind: type[DeepgramStt], service: type[FakeStream]) -> None:
    @asynccontextmanager
    async def bench(texts: Sequence[str]) -> AsyncIterator[StreamingStt]:
        yield kind(KEY, dial=service(list(texts)).dial)

    await check_streaming_stt(bench)


@pytest.mark.parametrize(("kind", "service"), BOTH)
async def test_stretches_make_one_utterance(kind: type[DeepgramStt], service: type[FakeStream]) -> None:
    peer = service(["Turn on the light, please.", "And now off."])
    stt = kind(KEY, dial=peer.dial)
    await stt.connect()
    first = await heard(stt)
    assert first[-1] == SttFinal("Turn on the light, please.", "en")
    assert all(isinstance(event, SttPartial) for event in first[:-1]) and len(first) > 1
    assert peer.heard_samples == 16_000
    assert (await heard(stt))[-1] == SttFinal("And now off.", "en"), "nothing of the first is left"
    assert KEY in str(peer.connection.target.headers) and KEY not in peer.connection.target.url
    await stt.disconnect()


@pytest.mark.parametrize(("kind", "service"), BOTH)
async def test_a_quiet_quarter_of_an_hour_is_survived(kind: type[DeepgramStt], service: type[FakeStream]) -> None:
    peer = service(["Still here."])
    stt = kind(KEY, dial=peer.dial)
    await stt.connect()
    await asyncio.sleep(900)
    assert len(peer.connection.sent) >= 900 / 16
    assert (await heard(stt))[-1] == SttFinal("Still here.", "en")
    assert len(peer.connections) == 1
    await stt.disconnect()


@pytest.mark.parametrize(("kind", "service"), BOTH)
async def test_a_connection_lost_costs_no_words(kind: type[DeepgramStt], service: type[FakeStream]) -> None:
    peer = service(["All of it."])
    stt = kind(KEY, dial=peer.dial)
    await stt.connect()
    stt.send_audio(np.full(16_000, 300, np.int16))
    await asyncio.sleep(0.1)
    peer.connection.drop(1011)
    await asyncio.sleep(1)
    peer.heard_samples = 0
    peer.connection.drop(1011)
    await asyncio.sleep(2)
    assert (await heard(stt))[-1] == SttFinal("All of it.", "en")
    assert peer.heard_samples == 32_000
    await stt.disconnect()


async def test_deepgram_finds_the_language_out() -> None:
    peer = FakeDeepgram(["Guten Morgen."])
    peer.languages = ("de", "en")
    stt = DeepgramStt(KEY, language=None, dial=peer.dial)
    await stt.connect()
    assert "language=multi" in peer.connection.target.url
    assert (await heard(stt))[-1] == SttFinal("Guten Morgen.", "de")
    peer.fail()
    await asyncio.sleep(2)
    assert stt.is_connected and len(peer.connections) == 2, "a session in disorder is replaced"
    await stt.disconnect()


@pytest.mark.parametrize(
    ("status", "code", "recovers"),
    [(401, "ERR_STT_AUTH", False), (400, "ERR_STT_REQUEST", True), (429, None, True), (503, None, True)],
)
async def test_cartesias_complaints_have_a_meaning(status: int, code: str | None, recovers: bool) -> None:
    peer = FakeCartesia()
    stt = CartesiaStt(KEY, dial=peer.dial)
    await stt.connect()
    faults, closed = collect(stt.events, SttFault), collect(stt.events, SttClosed)
    peer.fail(status, f"because of {KEY}")
    await asyncio.sleep(5)
    assert [fault.error.code for fault in faults] == ([code] if code else [])
    assert all(KEY not in str(fault.error) for fault in faults)
    assert bool(closed) is not recovers and stt.is_connected is recovers
    await stt.disconnect()


@pytest.mark.parametrize(("kind", "service"), BOTH)
@pytest.mark.parametrize("odd", ["[" * 200_000, b"\xff\xfe", "null", '{"type": ["Results"]}', '{"type": "Results"}'])
async def test_a_message_that_makes_no_sense_does_not_end_the_hearing(
    kind: type[DeepgramStt], service: type[FakeStream], odd: str | bytes
) -> None:
    peer = service(["Still here."])
    stt = kind(KEY, dial=peer.dial)
    await stt.connect()
    peer.connection.push(odd)
    await asyncio.sleep(5)
    assert (await heard(stt))[-1] == SttFinal("Still here.", "en")
    await stt.disconnect()


async def test_an_adapter_that_fails_over_a_message_connects_again() -> None:
    peer = FakeDeepgram(["Still here."])
    stt = DeepgramStt(KEY, dial=peer.dial)
    read = stt._wire.read
    await stt.connect()
    stt._wire.read = lambda message: 1 // 0  # type: ignore[method-assign,assignment]
    peer.connection.push("anything")
    await asyncio.sleep(0.1)
    stt._wire.read = read  # type: ignore[method-assign]
    await asyncio.sleep(5)
    assert (await heard(stt))[-1] == SttFinal("Still here.", "en")
    assert len(peer.connections) == 2
    await stt.disconnect()
