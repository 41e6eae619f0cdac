"""The text of an utterance: in pieces when it is long, and without work that nobody needs any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
import pytest

from agents.base.clock import now
from agents.base.errors import GloveVoiceError
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.base import SegmentStt, Transcript
from audio.stt.scripted import ScriptedStreamingStt
from audio.turns.streaming import StreamingTranscriber
from audio.turns.transcriber import GLANCES, SegmentTranscriber


class Hearing(SegmentStt):
    """Recognises with a function of the audio."""

    def __init__(self, hear: Callable[[Pcm], Transcript]) -> None:
        self._hear = hear
        self.calls: list[int] = []

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        self.calls.append(pcm.size)
        return self._hear(pcm)


def sound(seconds: float, level: int = 1000) -> Pcm:
    return np.full(round(seconds * CAPTURE_RATE_HZ), level, np.int16)


def feed(transcriber: SegmentTranscriber, seconds: float, level: int = 1000) -> None:
    for _ in range(round(seconds * 100)):
        transcriber.append(sound(0.01, level))


async def test_a_long_utterance_is_cut_in_its_pause() -> None:
    stt = Hearing(lambda _: Transcript("word", "en"))
    transcriber = SegmentTranscriber(stt)
    feed(transcriber, 18)
    feed(transcriber, 0.4, level=0)
    feed(transcriber, 7)
    assert (await transcriber.final()).text == "word word"
    assert 18.0 <= stt.calls[0] / CAPTURE_RATE_HZ <= 18.4
    assert sum(stt.calls) == round(25.4 * CAPTURE_RATE_HZ)
    await transcriber.close()


async def test_pieces_are_joined_as_their_language_is_written() -> None:
    transcriber = SegmentTranscriber(Hearing(lambda _: Transcript("今日は", "ja")))
    feed(transcriber, 26)
    assert (await transcriber.final()).text == "今日は今日は"
    await transcriber.close()


async def test_silence_at_the_end_does_not_change_the_language() -> None:
    transcriber = SegmentTranscriber(
        Hearing(lambda pcm: Transcript("Guten Tag", "de") if pcm.any() else Transcript(""))
    )
    feed(transcriber, 14)
    feed(transcriber, 12, level=0)
    heard = await transcriber.final()
    assert (heard.text, heard.language) == ("Guten Tag", "de")
    await transcriber.close()


@pytest.mark.realtime
async def test_a_slow_recogniser_is_not_asked_for_what_has_been_superseded() -> None:
    going = threading.Event()

    def slowly(_: Pcm) -> Transcript:
        going.wait(5)
        return Transcript("all of it")

    stt = Hearing(slowly)
    transcriber = SegmentTranscriber(stt)
    for _ in range(6):
        feed(transcriber, 0.5)
        transcriber.voiced()
        transcriber.speculate()
        await asyncio.sleep(0.01)
    final = asyncio.create_task(transcriber.final())
    await asyncio.sleep(0)
    going.set()
    assert (await final).text == "all of it"
    assert [size / CAPTURE_RATE_HZ for size in stt.calls] == [0.5, 3.0]
    await transcriber.close()


async def test_partials_go_on_when_a_piece_could_not_be_recognised() -> None:
    def failing(_: Pcm) -> Transcript:
        raise GloveVoiceError("ERR_STT_FAILED", "No.")

    transcriber = SegmentTranscriber(Hearing(failing), Hearing(lambda _: Transcript("still here")))
    shown: list[str] = []
    transcriber.on_partial = lambda text, _: shown.append(text)
    feed(transcriber, 25)
    for _ in range(3):
        transcriber.voiced()
        await asyncio.sleep(1.0)
    assert shown and set(shown) == {"still here"}
    await transcriber.close()


async def understood(urgent: Callable[[], bool], partials: SegmentStt | None = None) -> list[float]:
    """When the words of somebody who speaks for three seconds are first seen, and seen again."""
    stt = Hearing(lambda _: Transcript("Guten Tag", "de"))
    transcriber = SegmentTranscriber(stt, partials)
    seen: list[float] = []
    transcriber.on_partial = lambda text, language: seen.append(now())
    transcriber.urgent = urgent
    for _ in range(300):
        transcriber.append(sound(0.01))
        transcriber.voiced()
        await asyncio.sleep(0.01)
    await transcriber.close()
    return seen


async def test_without_a_light_recogniser_the_other_one_is_asked_a_few_times_while_words_are_urgent() -> None:
    seen = await understood(lambda: True)
    assert seen[0] < 0.3 and len(seen) == GLANCES
    assert await understood(lambda: False) == []


async def test_once_it_is_decided_it_is_asked_no_more() -> None:
    assert len(await understood(lambda: now() < 0.2)) == 1


async def test_a_light_recogniser_hurries_while_words_are_urgent() -> None:
    light = Hearing(lambda _: Transcript("Good day", "en"))
    hurried = await understood(lambda: now() < 1.0, light)
    usual = await understood(lambda: False, light)
    assert sum(at < 1.0 for at in hurried) > sum(at < usual[0] + 0.7 for at in usual)
    assert hurried[0] < usual[0]


async def streaming(stt: ScriptedStreamingStt) -> StreamingTranscriber:
    transcriber = StreamingTranscriber(stt, timeout_s=3.0)
    await transcriber.open()
    transcriber.append(sound(0.5))
    transcriber.voiced()
    return transcriber


BROKEN = GloveVoiceError("ERR_STT_CONNECTION", "The provider hung up.")


@pytest.mark.parametrize("before", [True, False], ids=["before the final", "while it is waited for"])
@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (lambda stt: stt.fail(BROKEN), "ERR_STT_CONNECTION"),
        (lambda stt: stt.fail(GloveVoiceError("ERR_STT_AUTH", "No.")), "ERR_STT_AUTH"),
        (lambda stt: stt.fail(OSError("reset")), "ERR_STT_CONNECTION"),
        (lambda stt: stt.drop(), "ERR_STT_CONNECTION"),
    ],
    ids=["fault", "refused", "foreign fault", "closed"],
)
async def test_a_lost_recogniser_is_not_waited_for(
    happens: Callable[[ScriptedStreamingStt], None], code: str, before: bool
) -> None:
    stt = ScriptedStreamingStt()
    transcriber = await streaming(stt)
    began = now()
    if before:
        happens(stt)
    else:
        asyncio.get_running_loop().call_later(0.1, happens, stt)
    for _ in range(2):
        with pytest.raises(GloveVoiceError) as lost:
            await transcriber.final()
        assert lost.value.code == code
    assert now() - began == pytest.approx(0.0 if before else 0.1)
    await transcriber.close()


async def test_what_a_lost_recogniser_has_understood_is_taken_at_once() -> None:
    stt = ScriptedStreamingStt()
    transcriber = await streaming(stt)
    stt.partial("Turn on the")
    stt.drop()
    assert [(await transcriber.final()).text for _ in range(2)] == ["Turn on the"] * 2
    assert now() == pytest.approx(0.0)
    await transcriber.close()


async def test_after_a_fault_that_it_got_over_its_final_is_waited_for() -> None:
    stt = ScriptedStreamingStt(["Turn on the light."])
    transcriber = await streaming(stt)
    stt.fail(BROKEN)
    stt.partial("")
    assert (await transcriber.final()).text == "Turn on the light."
    await transcriber.close()


class BreaksOff(SegmentStt):
    """Cancels itself in its first call, as a broken library would; then it understands."""

    def __init__(self) -> None:
        self.calls = 0

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        return Transcript("all of it")

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        self.calls += 1
        if self.calls == 1:
            raise asyncio.CancelledError
        return self.transcribe(pcm)


async def test_a_recogniser_that_breaks_off_is_a_fault_and_the_next_sound_is_understood() -> None:
    transcriber = SegmentTranscriber(BreaksOff())
    feed(transcriber, 1)
    with pytest.raises(GloveVoiceError, match="broke off"):
        await transcriber.final()
    transcriber.voiced()
    assert (await transcriber.final()).text == "all of it"
    await transcriber.close()


async def test_who_waits_for_the_text_so_far_gets_it_although_the_voice_goes_on() -> None:
    stt = Hearing(lambda pcm: Transcript(f"{pcm.size / CAPTURE_RATE_HZ:g} s"))
    stt.cost_s = 1.0
    transcriber = SegmentTranscriber(stt)
    feed(transcriber, 1)
    asked = asyncio.create_task(transcriber.final())
    await asyncio.sleep(0.2)
    feed(transcriber, 1)
    transcriber.voiced()
    transcriber.speculate()
    assert (await asked).text == "1 s"
    assert (await transcriber.final()).text == "2 s"
    await transcriber.close()


async def test_nobody_is_told_the_text_of_an_utterance_that_is_over() -> None:
    stt = Hearing(lambda pcm: Transcript("old"))
    transcriber = SegmentTranscriber(stt)
    feed(transcriber, 1)
    asked = asyncio.create_task(transcriber.final())
    await asyncio.sleep(0.05)
    transcriber.clear()
    await asyncio.wait([asked])
    assert asked.cancelled()
    await transcriber.close()
