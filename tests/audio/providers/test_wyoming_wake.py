"""The wake word by a Wyoming service: heard there, heard here while that is away, and never told twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from agents.base.errors import GloveError
from audio.pcm import Pcm, silence
from audio.providers.wyoming.wake import ASK_EVERY_S, PATIENCE_S, WyomingWakeDetector
from audio.wake.base import WakeHeard
from audio.wake.scripted import ScriptedWakeDetector
from tests.audio.providers.wyoming_peer import SOMEWHERE, Spotter

QUIET = silence(1280)
PHRASE = np.full(1280, 8000, np.int16)


class Microphone:
    """Feeds a detector as a room does; ``heard`` is what came of it."""

    def __init__(self, detector: WyomingWakeDetector) -> None:
        self.detector = detector
        self.heard: list[WakeHeard] = []
        self.samples = 0

    async def feed(self, *blocks: Pcm) -> None:
        for block in blocks:
            self.heard += self.detector.process(block)
            self.samples += block.size
            await asyncio.sleep(0.08)

    async def quiet(self, seconds: float) -> None:
        await self.feed(*[QUIET] * round(seconds / 0.08))


@asynccontextmanager
async def listening(
    service: Spotter, local: ScriptedWakeDetector | None = None, troubles: list[GloveError] | None = None
) -> AsyncIterator[Microphone]:
    on_trouble = None if troubles is None else troubles.append
    detector = WyomingWakeDetector(SOMEWHERE, "hey_jarvis", local=local, on_trouble=on_trouble, dial=service.dial)
    try:
        yield Microphone(detector)
    finally:
        detector.close()
        detector.close()
        await asyncio.sleep(0.1)
        assert detector.process(PHRASE) == []


async def test_the_phrase_is_told_each_time_it_is_said() -> None:
    service = Spotter()
    async with listening(service) as microphone:
        await microphone.quiet(1)
        assert microphone.detector.listens
        for _ in range(3):
            said_at = microphone.samples
            await microphone.feed(PHRASE, PHRASE)
            await microphone.quiet(2)
            assert [hit.phrase for hit in microphone.heard] == ["Hey Jarvis"]
            assert microphone.heard.pop().sample == said_at
    assert {tuple(request.names or ()) for request in service.requests} == {("hey_jarvis_v0.1",)}


async def test_this_machine_listens_until_the_service_does_and_when_it_is_gone() -> None:
    service, troubles = Spotter(), list[GloveError]()
    service.down = True
    local = ScriptedWakeDetector(lambda frame: bool(frame.any()))
    async with listening(service, local, troubles) as microphone:
        for _ in range(2):
            await microphone.feed(PHRASE)
            said_at = microphone.samples
            await microphone.quiet(1)
            assert [hit.phrase for hit in microphone.heard] == ["Hey Jarvis"], "heard here"
            assert abs(microphone.heard.pop().sample - said_at) <= 160, "places count from the beginning"
            await microphone.quiet(8)
        assert [fault.code for fault in troubles] == ["ERR_WAKE_CONNECTION"], "told once"
        service.down = False
        await microphone.quiet(20)
        fed = local.fed
        await microphone.feed(PHRASE)
        await microphone.quiet(1)
        assert len(microphone.heard) == 1 and local.fed == fed, "heard there, and only there"
        microphone.heard.clear()
        service.peers[-1].drop()
        service.down = True
        await microphone.quiet(0.5)
        await microphone.feed(PHRASE)
        await microphone.quiet(1)
        assert len(microphone.heard) == 1 and local.fed > fed, "heard here again"
    assert local.closed


async def test_a_half_open_service_is_found_out() -> None:
    service = Spotter()
    local = ScriptedWakeDetector(lambda frame: bool(frame.any()))
    async with listening(service, local) as microphone:
        await microphone.quiet(1)
        service.mute = True
        await microphone.quiet(ASK_EVERY_S + PATIENCE_S + 1)
        assert not microphone.detector.listens
        await microphone.feed(PHRASE)
        await microphone.quiet(1)
        assert len(microphone.heard) == 1


async def test_a_service_that_answers_is_left_alone() -> None:
    service = Spotter()
    async with listening(service) as microphone:
        await microphone.quiet(90)
        assert microphone.detector.listens and len(service.peers) == 1


async def test_a_service_without_the_word_is_trouble() -> None:
    service, troubles = Spotter("alexa_v0.1"), list[GloveError]()
    async with listening(service, None, troubles) as microphone:
        await microphone.quiet(5)
        (fault,) = troubles
        assert "hey_jarvis" in fault.message and fault.remedy


async def test_sound_that_cannot_be_sent_is_bounded() -> None:
    service = Spotter()
    async with listening(service) as microphone:
        await microphone.quiet(1)
        for _ in range(1000):
            microphone.detector.process(QUIET)  # the loop is held up
        assert microphone.detector.dropped > 900 * 1280
        await microphone.quiet(1)
        await microphone.feed(PHRASE)
        await microphone.quiet(1)
        assert len(microphone.heard) == 1
