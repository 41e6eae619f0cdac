"""Two recognisers while the first of them misbehaves in ways that no fault of its own announces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
import pytest

from audio.pcm import Pcm
from audio.stt.base import SegmentStt, SttEvent, SttFault, SttFinal, Transcript
from audio.stt.fallback import FallbackSegmentStt, FallbackStt
from audio.stt.scripted import ScriptedSegmentStt, ScriptedStreamingStt
from tests.audio.providers.fake_elevenlabs import FakeScribe
from tests.audio.providers.sockets import FakeConnection, collect

KEY = "sk_very-secret-key"


def speech(seconds: float = 1.0) -> Pcm:
    return np.full(round(seconds * 16_000), 300, np.int16)


def local() -> ScriptedSegmentStt:
    return ScriptedSegmentStt(lambda _: "local", latency_s=0.1)


async def finals_of(stt: FallbackStt, utterances: int = 1) -> list[str]:
    """What is understood of so many utterances, one a minute."""
    finals = collect(stt.events, SttFinal)
    for _ in range(utterances):
        stt.send_audio(speech())
        stt.flush_utterance()
        await asyncio.sleep(60)
    return [final.text for final in finals]


class OddSegments(SegmentStt):
    """Fails with what no recogniser should raise."""

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        raise ValueError("odd")

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        return self.transcribe(pcm, language)


class SlowToConnect(ScriptedStreamingStt):
    """Takes so many seconds to connect."""

    def __init__(self, connect_s: float) -> None:
        super().__init__(["service"] * 9)
        self.connect_s = connect_s

    async def connect(self) -> None:
        await asyncio.sleep(self.connect_s)
        await super().connect()


async def test_a_refused_utterance_does_not_move_the_answers_of_those_after_it() -> None:
    from audio.providers.elevenlabs.stt import ScribeStt

    service = FakeScribe(["two", "three", "four"])
    stt = FallbackStt(ScribeStt(KEY, dial=service.dial), local())
    await stt.connect()
    commit = service.commit
    service.commit = lambda connection: service.complain("input_error")  # type: ignore[method-assign]
    assert await finals_of(stt) == ["local"]
    service.commit = commit  # type: ignore[method-assign]
    await finals_of(stt)  # whichever is quicker: the first has shown no sign of life yet
    assert await finals_of(stt, 2) == ["three", "four"]
    await stt.disconnect()


async def test_an_empty_final_behind_a_fault_does_not_move_the_answers_of_those_after_it() -> None:
    first = ScriptedStreamingStt()
    stt = FallbackStt(first, local())
    await stt.connect()
    finals = collect(stt.events, SttFinal)
    stt.send_audio(speech())
    stt.flush_utterance()
    first._connected = False
    first.fail(OSError("away"))
    first._connected = True
    first.final("")
    await asyncio.sleep(60)
    stt.send_audio(speech())
    first.partial("second")
    stt.flush_utterance()
    first.final("second")
    await asyncio.sleep(60)
    assert [final.text for final in finals] == ["local", "second"]
    await stt.disconnect()


@pytest.mark.parametrize(
    "ends", [lambda fake, connection: fake.complain("auth_error"), lambda fake, connection: connection.drop(1006)]
)
async def test_a_service_that_takes_connections_only_to_end_them_is_not_stormed(
    ends: Callable[[FakeScribe, FakeConnection], None],
) -> None:
    from audio.providers.elevenlabs.stt import ScribeStt

    service = FakeScribe()
    service.opened = lambda connection: ends(service, connection)  # type: ignore[method-assign]
    stt = FallbackStt(ScribeStt(KEY, dial=service.dial), local())
    await stt.connect()
    await asyncio.sleep(600)
    assert 3 <= len(service.dialled_at) < 60
    assert await finals_of(stt) == ["local"]
    await stt.disconnect()


async def test_a_first_that_fails_in_an_odd_way_is_replaced_all_the_same() -> None:
    stt = FallbackSegmentStt(OddSegments(), local())
    assert (await stt.recognise(speech())).text == "local"
    assert stt.transcribe(speech()).text == "local"


async def test_a_second_that_fails_in_an_odd_way_is_a_fault_and_not_a_silence() -> None:
    stt = FallbackStt(ScriptedStreamingStt(), OddSegments())
    await stt.connect()
    events = collect(stt.events, SttEvent)
    await finals_of(stt)
    assert [type(event) for event in events] == [SttFault]
    await stt.disconnect()


@pytest.mark.parametrize("connect_s", [1e6, 7.0])
async def test_a_first_that_takes_long_to_connect_does_not_keep_the_appliance_from_starting(connect_s: float) -> None:
    first = SlowToConnect(connect_s)
    stt = FallbackStt(first, local())
    async with asyncio.timeout(6):
        await stt.connect()
    assert await finals_of(stt) == ["local"]
    first.connect_s = 0.0
    await asyncio.sleep(600)
    assert await finals_of(stt) == ["service"]
    await stt.disconnect()


async def test_a_session_closed_while_it_opens_leaves_nothing_open() -> None:
    first = SlowToConnect(2.0)
    stt = FallbackStt(first, local())
    opening = asyncio.create_task(stt.connect())
    await asyncio.sleep(1)
    await stt.disconnect()
    await opening
    assert not first.is_connected and not stt.is_connected


async def test_a_session_whose_opening_was_given_up_can_be_opened() -> None:
    first = SlowToConnect(2.0)
    stt = FallbackStt(first, local())
    opening = asyncio.create_task(stt.connect())
    await asyncio.sleep(1)
    opening.cancel()
    await asyncio.wait([opening])
    await stt.connect()
    assert await finals_of(stt) == ["service"]
    await stt.disconnect()


async def test_what_the_first_heard_only_in_part_is_recognised_by_the_second() -> None:
    """It came back while somebody spoke: its final holds the end of the sentence alone."""
    first = ScriptedStreamingStt(["the end of it"])
    stt = FallbackStt(first, local())
    await stt.connect()
    finals = collect(stt.events, SttFinal)
    first.drop()
    stt.send_audio(speech())
    await asyncio.sleep(10)
    assert first.is_connected
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(10)
    assert [final.text for final in finals] == ["local"]
    await stt.disconnect()
