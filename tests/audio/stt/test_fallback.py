"""Where the first recogniser is in trouble, the second answers; nobody has to repeat anything."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from agents.base.errors import GloveError, GloveVoiceError
from audio.pcm import Pcm
from audio.stt.base import SttClosed, SttEvent, SttFault, SttFinal, SttPartial
from audio.stt.fallback import FallbackSegmentStt, FallbackStt, with_fallback
from audio.stt.scripted import ScriptedSegmentStt, ScriptedStreamingStt

GONE = GloveVoiceError("ERR_STT_CONNECTION", "Nobody there.", "Check the network.")


def speech(seconds: float = 1.0) -> Pcm:
    return np.full(round(seconds * 16_000), 300, np.int16)


def events_of(stt: FallbackStt) -> list[SttEvent]:
    events: list[SttEvent] = []
    stt.events.on(SttEvent, events.append)
    return events


async def opened(
    first: ScriptedStreamingStt, second: Sequence[str] = ("from the second",), told: list[GloveError] | None = None
) -> FallbackStt:
    other = ScriptedSegmentStt(list(second), latency_s=0.3)
    stt = FallbackStt(first, other, on_trouble=None if told is None else told.append)
    await stt.connect()
    return stt


async def test_in_good_health_the_first_alone_is_heard() -> None:
    first = ScriptedStreamingStt(["Hello."])
    stt = await opened(first)
    events = events_of(stt)
    stt.send_audio(speech())
    first.partial("hel")
    stt.flush_utterance()
    await asyncio.sleep(10)
    assert events == [SttPartial("hel"), SttFinal("Hello.")]
    await stt.disconnect()


async def test_an_utterance_that_the_first_does_not_answer_is_answered_by_the_second() -> None:
    first, told = ScriptedStreamingStt(), []
    stt = await opened(first, told=told)
    events = events_of(stt)
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(1.4)
    assert not events
    await asyncio.sleep(0.5)
    assert events == [SttFinal("from the second")]
    first.final("from the first, too late")
    await asyncio.sleep(5)
    assert events == [SttFinal("from the second")], "one utterance has one final"
    assert [fault.code for fault in told] == ["ERR_STT_TIMEOUT"]
    await stt.disconnect()


async def test_a_fault_in_mid_utterance_costs_no_words() -> None:
    first = ScriptedStreamingStt()
    stt = await opened(first)
    events = events_of(stt)
    stt.send_audio(speech())
    first.fail(GONE)
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(0.4)
    assert events == [SttFinal("from the second")], "it does not wait for what is in trouble"
    await stt.disconnect()


async def test_a_session_that_ends_for_good_is_opened_again_in_the_background() -> None:
    first = ScriptedStreamingStt(["back again"])
    stt = await opened(first, ["one", "two"])
    events = events_of(stt)
    first.refuse = GONE
    first.drop()
    for _ in range(2):
        stt.send_audio(speech())
        stt.flush_utterance()
        await asyncio.sleep(1)
    assert events == [SttFinal("one"), SttFinal("two")] and stt.is_connected
    first.refuse = None
    await asyncio.sleep(400)
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert events[-1] == SttFinal("back again")
    assert not any(isinstance(event, SttClosed | SttFault) for event in events)
    await stt.disconnect()


async def test_a_first_that_cannot_be_opened_does_not_keep_the_appliance_from_starting() -> None:
    first = ScriptedStreamingStt()
    first.refuse = GONE
    stt = await opened(first)
    events = events_of(stt)
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert events == [SttFinal("from the second")]
    await stt.disconnect()


async def test_when_both_fail_it_is_said() -> None:
    first = ScriptedStreamingStt()
    first.refuse = GONE
    stt = FallbackStt(first, ScriptedSegmentStt([GONE]))
    await stt.connect()
    events = events_of(stt)
    stt.send_audio(speech())
    stt.flush_utterance()
    await asyncio.sleep(1)
    assert events == [SttFault(GONE)]
    await stt.disconnect()


async def test_a_flush_of_nothing_is_answered_at_once() -> None:
    stt = await opened(ScriptedStreamingStt())
    events = events_of(stt)
    stt.flush_utterance()
    assert events == [SttFinal("")]
    await stt.disconnect()


async def test_nothing_comes_after_disconnect() -> None:
    first = ScriptedStreamingStt(["late"])
    stt = await opened(first)
    events = events_of(stt)
    stt.send_audio(speech())
    stt.flush_utterance()
    await stt.disconnect()
    await stt.disconnect()
    stt.send_audio(speech())
    await asyncio.sleep(60)
    assert events == [] and not stt.is_connected and not first.is_connected


async def test_the_user_is_told_at_most_once_per_half_minute() -> None:
    """A service that comes and goes every few seconds for ten minutes."""
    told: list[float] = []
    loop = asyncio.get_running_loop()
    first = ScriptedSegmentStt([GONE if index % 2 else "fine" for index in range(400)], latency_s=0.1)
    second = ScriptedSegmentStt(["second"], repeat_last=True)
    stt = FallbackSegmentStt(first, second, on_trouble=lambda _: told.append(loop.time()))
    for number in range(200):
        await stt.recognise(np.full(2_000, number + 1, np.int16))
        await asyncio.sleep(3)
    assert 5 < len(told) <= 20
    assert min(np.diff(told)) >= 30


@pytest.mark.parametrize("trouble", [GONE, "slow"])
async def test_a_segment_recogniser_in_trouble_is_left_alone_for_a_while(trouble: GloveVoiceError | str) -> None:
    slow_s = 60.0 if trouble == "slow" else 0.1
    first = ScriptedSegmentStt([trouble], latency_s=slow_s, repeat_last=True)
    second = ScriptedSegmentStt(["second"], repeat_last=True)
    stt = with_fallback(first, second)
    assert isinstance(stt, FallbackSegmentStt)
    for _ in range(3):
        assert (await stt.recognise(speech())).text == "second"
    assert len(first.calls) == 1, "it is not asked again while it rests"
    await asyncio.sleep(10)
    await stt.recognise(speech())
    assert len(first.calls) == 2


def test_without_a_loop_the_second_answers_as_well() -> None:
    stt = FallbackSegmentStt(ScriptedSegmentStt([GONE]), ScriptedSegmentStt(["second"]))
    assert stt.transcribe(speech()).text == "second"
    stt.close()
