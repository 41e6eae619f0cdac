"""Wyoming recognisers: what is said is written down, also when the service dies, hangs or refuses meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from wyoming.asr import Transcript as WyomingTranscript
from wyoming.error import Error
from wyoming.event import Event

from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from audio.pcm import silence, wire_bytes
from audio.providers.wyoming.stt import WyomingSegmentStt, WyomingStt
from audio.stt.base import StreamingStt, SttClosed, SttEvent, SttFault, SttFinal, SttPartial, Transcript
from audio.stt.conformance import SEGMENT_CHECKS, STREAM_CHECKS, check_segment_stt, check_streaming_stt
from audio.stt.fallback import FallbackSegmentStt, FallbackStt
from audio.stt.scripted import ScriptedSegmentStt
from tests.audio.babble import babble
from tests.audio.providers.sockets import collect
from tests.audio.providers.wyoming_peer import SOMEWHERE, Peer, Recogniser

SPEECH = (3000 * np.sin(np.arange(16_000) / 10)).astype(np.int16)


def segment(service: Recogniser, model: str = "", retries: int = 1) -> WyomingSegmentStt:
    return WyomingSegmentStt(SOMEWHERE, model, retries=retries, dial=service.dial)


def streaming(service: Recogniser, backoff: Backoff | None = None) -> WyomingStt:
    return WyomingStt(SOMEWHERE, backoff=backoff, dial=service.dial)


async def test_the_segment_recogniser_conforms() -> None:
    def make() -> WyomingSegmentStt:
        return segment(Recogniser(["Hello there."] * 5))

    assert len(await check_segment_stt(make, babble(1.0), "Hello there.")) == len(SEGMENT_CHECKS)


@pytest.mark.parametrize("says_partials", [True, False])
async def test_the_streaming_recogniser_conforms(says_partials: bool) -> None:
    @asynccontextmanager
    async def bench(texts: Sequence[str]) -> AsyncIterator[StreamingStt]:
        yield streaming(Recogniser(texts, streaming=says_partials))

    assert len(await check_streaming_stt(bench)) == len(STREAM_CHECKS)


async def test_the_service_hears_what_was_said_sample_by_sample() -> None:
    service = Recogniser([" Turn on the light. "], language="de_AT")
    assert await segment(service, "base").recognise(SPEECH, "de") == Transcript("Turn on the light.", "de")
    (asked,) = service.requests
    assert (asked.name, asked.language) == ("base", "de")
    assert service.sound() == wire_bytes(SPEECH)
    assert [event.type for event in service.got if event.type != "audio-chunk"] == [
        "transcribe",
        "audio-start",
        "audio-stop",
    ]


async def test_nothing_is_not_sent_to_anybody() -> None:
    service = Recogniser(["never"])
    for pcm in (silence(0), silence(16_000), SPEECH[:100]):
        assert (await segment(service).recognise(pcm)).text == ""
    assert service.got == []


async def test_a_service_that_dies_in_the_middle_is_asked_again() -> None:
    service = Recogniser(["Once more."])

    def die_once(peer: Peer) -> bool:
        service.before = lambda _: True
        peer.drop()
        return False

    service.before = die_once
    assert (await segment(service).recognise(SPEECH)).text == "Once more."


@pytest.mark.parametrize("how", ["down", "mute", "hangs up", "error", "no text"])
async def test_a_failure_says_what_to_do(how: str) -> None:
    service = Recogniser(["never"])
    service.down, service.mute = how == "down", how == "mute"

    async def answer(peer: Peer, event: Event) -> bool:
        if event.type == "audio-stop":
            if how == "error":
                await peer.write_event(Error("no such model").event())
            elif how == "no text":
                await peer.write_event(Event("transcript", {"words": 5}))
            return False
        return True

    if how in ("hangs up", "error", "no text"):
        service.answer = answer  # type: ignore[method-assign]
    began = asyncio.get_running_loop().time()
    with pytest.raises(GloveVoiceError) as caught:
        await segment(service).recognise(SPEECH)
    assert caught.value.code == ("ERR_STT_REQUEST" if how in ("error", "no text") else "ERR_STT_CONNECTION")
    assert caught.value.remedy and "127.0.0.1:10300" in caught.value.message
    assert asyncio.get_running_loop().time() - began < 30
    assert all(peer.reader.at_eof() for peer in service.peers), "no connection is left open"


async def test_this_machine_answers_while_the_service_is_away() -> None:
    service = Recogniser(["from there"])
    service.down = True
    both = FallbackSegmentStt(segment(service), ScriptedSegmentStt(["from here"], repeat_last=True))
    assert (await both.recognise(SPEECH)).text == "from here"
    service.down = False
    await asyncio.sleep(10)
    assert (await both.recognise(SPEECH)).text == "from there"


async def speak(stt: StreamingStt, seconds: float = 1.0) -> None:
    """Feed sound as a microphone does."""
    for at in range(0, round(seconds * 16_000), 160):
        stt.send_audio(np.resize(SPEECH[at % 16_000 :], 160).astype(np.int16))
        await asyncio.sleep(0.01)


async def until(events: list[SttEvent], kind: type[SttEvent], count: int = 1) -> None:
    async with asyncio.timeout(60):
        while sum(isinstance(event, kind) for event in events) < count:
            await asyncio.sleep(0.01)


async def test_what_is_heard_is_said_meanwhile_and_then_as_a_whole() -> None:
    service = Recogniser(["turn on the light"], streaming=True, language="en-GB")
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt)
    stt.flush_utterance()
    await until(events, SttFinal)
    assert [event.text for event in events if isinstance(event, SttPartial)][:2] == ["turn", "turn on"]
    assert events[-1] == SttFinal("turn on the light", "en")
    await stt.disconnect()


async def test_an_utterance_may_begin_before_the_last_one_is_answered() -> None:
    service = Recogniser(["one", "two"])
    free = asyncio.Event()
    plain = service.answer

    async def slow(peer: Peer, event: Event) -> bool:
        if event.type == "audio-stop" and peer is service.peers[1]:
            await free.wait()
        return await plain(peer, event)

    service.answer = slow  # type: ignore[method-assign]
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()  # peers[0] only says what the service is
    await speak(stt, 0.5)
    stt.flush_utterance()
    await speak(stt, 0.5)
    free.set()
    await asyncio.sleep(0.1)
    stt.flush_utterance()
    await until(events, SttFinal, 2)
    assert [event.text for event in events if isinstance(event, SttFinal)] == ["one", "two"]
    await stt.disconnect()


async def test_a_peer_killed_in_mid_utterance_costs_time_and_no_words() -> None:
    service = Recogniser(["all of it"])
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 1.0)
    service.peers[-1].drop()
    await speak(stt, 1.0)
    stt.flush_utterance()
    await until(events, SttFinal)
    assert events == [SttFinal("all of it", "en")], "nobody hears of it"
    whole = service.peers[-1]
    assert whole is not service.peers[1]
    sound = [event for event in service.got if event.type == "audio-chunk"]
    assert sum(len(event.payload or b"") for event in sound) > 2 * 2 * 16_000, "it was said again to the new connection"
    await stt.disconnect()


async def test_a_half_open_peer_is_found_out_and_the_words_are_said_again() -> None:
    service = Recogniser(["at last"])
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 0.5)
    service.mute = True
    stt.flush_utterance()
    await asyncio.sleep(3)
    assert events == []
    service.mute = False
    await until(events, SttFinal)
    assert events[-1] == SttFinal("at last", "en")
    await stt.disconnect()


async def test_much_speech_without_a_word_from_the_service_is_no_fault_of_it() -> None:
    service = Recogniser(["long"])
    stt = streaming(service)
    await stt.connect()
    await speak(stt, 25.0)
    assert len(service.peers) == 2, "the connection was left alone"
    await stt.disconnect()


async def test_a_service_that_refuses_is_told_once_and_asked_again_for_the_next_utterance() -> None:
    service = Recogniser(["second"])
    plain, refusing = service.answer, True

    async def refuse(peer: Peer, event: Event) -> bool:
        if event.type == "audio-stop" and refusing:
            await peer.write_event(Error("too long").event())
            return False
        return await plain(peer, event)

    service.answer = refuse  # type: ignore[method-assign]
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 0.5)
    stt.flush_utterance()
    await until(events, SttFault)
    refusing = False
    await speak(stt, 0.5)
    stt.flush_utterance()
    await until(events, SttFinal)
    assert [type(event) for event in events] == [SttFault, SttFinal]
    await stt.disconnect()


async def test_the_service_may_find_the_end_by_itself() -> None:
    service = Recogniser([])
    plain = service.answer

    async def early(peer: Peer, event: Event) -> bool:
        if event.type == "audio-chunk" and len(service.events("audio-chunk")) == 10:
            await peer.write_event(WyomingTranscript("stop").event())
            return False
        return await plain(peer, event)

    service.answer = early  # type: ignore[method-assign]
    stt = streaming(service)
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 0.4)
    await until(events, SttFinal)
    assert events == [SttFinal("stop", "en")]
    assert stt.is_connected and len(service.peers) == 2
    await stt.disconnect()


async def test_it_gives_up_when_the_service_is_gone_for_good() -> None:
    service = Recogniser([])
    stt = streaming(service, Backoff(first_s=0.5, budget=3))
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 0.5)
    service.down = True
    service.peers[-1].drop()
    await until(events, SttClosed)
    assert [type(event) for event in events] == [SttFault, SttClosed]


async def test_with_another_behind_it_nothing_is_lost_when_the_service_hangs() -> None:
    service = Recogniser(["never"])
    stt = FallbackStt(streaming(service), ScriptedSegmentStt(["from here"]))
    events = collect(stt.events, SttEvent)
    await stt.connect()
    await speak(stt, 0.5)
    service.mute = True
    stt.flush_utterance()
    await until(events, SttFinal)
    assert [event.text for event in events if isinstance(event, SttFinal)] == ["from here"]
    await stt.disconnect()


async def test_a_service_without_a_recogniser_is_refused() -> None:
    service = Recogniser([])
    service.info.asr = []
    with pytest.raises(GloveVoiceError, match="offers no recogniser"):
        await streaming(service).connect()
