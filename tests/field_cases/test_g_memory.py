"""What goes wrong after days: memory that grows, streams that pin their sound, states that are never left.

The whole runs are those of ``scripts/soak``; these are a part of each.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest

from agents.models.scripted import ScriptedModel
from audio.io.files import StereoSink
from audio.pcm import FRAME_SAMPLES, Pcm, silence
from audio.stt.base import SttClosed
from audio.wake.attention import AttentionSettings
from tests.audio.providers.fake_elevenlabs import FakeScribe
from tests.support.episodes import EPISODES
from tests.support.household import household
from tests.support.inventory import take_inventory
from tests.support.long_day import SPRING, live
from tests.support.session import Session
from tests.support.sessions import LIMIT_KB, residue


@pytest.mark.timeout(900)
def test_case_g35_a_short_night_in_a_household_misses_nothing_and_nothing_grows() -> None:
    """Each kind of episode once, and the alarm, in the night in which clocks are put forward."""
    day = live(0.6, SPRING)
    assert not day.faults, "\n".join(day.faults)
    assert len(day.episodes) >= len(EPISODES) - 3
    assert len(day.samples) >= 6 and not day.grown()


@pytest.mark.timeout(600)
def test_case_g35_fifty_sessions_leave_nothing_behind() -> None:
    left = residue(50, looks=25)
    assert not left.grown()
    assert left.kb_per_session < LIMIT_KB


def test_what_is_left_behind_is_noticed() -> None:
    """The inventory sees a list that grows in an object of the appliance, and a task that never ends."""

    async def watch() -> list[int]:
        session = Session(ScriptedModel([]))
        before = take_inventory()
        session.voice._recent.__dict__["leak"] = [bytes(10)] * 40
        idle = [asyncio.ensure_future(asyncio.Event().wait()) for _ in range(20)]
        after = take_inventory()
        for task in idle:
            task.cancel()
        return [after.counts[name] - before.counts[name] for name in ("audio.recent.RecentTalk.leak", "tasks")]

    assert asyncio.run(watch()) == [40, 20]


class CountedRoom:
    """A microphone whose frames are known one by one."""

    def __init__(self) -> None:
        self.alive: weakref.WeakSet[Frame] = weakref.WeakSet()

    def frame(self) -> Pcm:
        frame = silence(FRAME_SAMPLES).view(Frame)
        self.alive.add(frame)
        return frame


class Frame(np.ndarray):  # type: ignore[type-arg]
    """Sound that can be referred to weakly and told from other sound."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return self is other


@pytest.mark.timeout(600)
async def test_case_g36_an_hour_of_idle_time_with_a_service_that_closes_keeps_no_sound_and_no_memory() -> None:
    """A service that ends the connection every three minutes, and nobody who speaks."""
    from audio.providers.elevenlabs.stt import ScribeStt

    service, counted = FakeScribe([]), CountedRoom()
    stt = ScribeStt("sk_key", dial=service.dial)
    session = Session(ScriptedModel([]), stt=stt, partials=False, attention=AttentionSettings())
    session.living.frame = counted.frame  # type: ignore[method-assign]
    session.living.write = lambda *_: None  # type: ignore[method-assign]
    async with session:
        await _quiet(service, 2)
        gc.collect()
        before, kept = sys.getallocatedblocks(), len(counted.alive)
        await _quiet(service, 18)
        gc.collect()
        after = sys.getallocatedblocks()
        assert len(counted.alive) <= kept + 10 and kept < 400, "a few seconds of sound are kept, whatever happens"
        assert after - before < 2000, "blocks of memory; a frame every second would be more"
        assert stt.is_connected and not session.of("error")
    gc.collect()
    assert len(counted.alive) <= 1


async def _quiet(service: FakeScribe, closes: int) -> None:
    for _ in range(closes):
        await asyncio.sleep(180)
        service.connection.drop(1000, "idle")
        service.connections[:-1] = []
        service.dialled_at.clear()


async def test_case_g36_a_stream_that_ended_for_good_lets_go_of_the_session() -> None:
    from audio.stt.scripted import ScriptedStreamingStt

    stt = ScriptedStreamingStt()
    session = Session(ScriptedModel([]), stt=stt)
    async with session:
        stt.events.emit(SttClosed())
        await asyncio.sleep(1.0)
    gone = weakref.ref(session.voice)
    del session
    gc.collect()
    assert gone() is None, "nothing that outlives a session refers to it"


def test_case_g37_a_recording_of_three_minutes_needs_no_more_memory_than_its_beginning(tmp_path: Path) -> None:
    """The sound goes to the disk as it comes: what a frame left behind would be left eighteen thousand times."""
    path = tmp_path / "call.wav"
    sink = StereoSink(path, None, rate_hz=8_000)
    played, user = silence(80), silence(FRAME_SAMPLES)
    for _ in range(1000):
        sink.write(played, user)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    frames = 3 * 6000
    for _ in range(frames):
        sink.write(played, user)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    sink.close()
    assert path.stat().st_size > 4 * 80 * frames
    assert after - before < 100_000 and peak - before < 500_000


async def test_case_g37_the_daemon_keeps_nothing_of_what_it_hears_and_plays(tmp_path: Path) -> None:
    async with household(tmp_path) as home:
        await home.ask("tell me a story")
        await home.rest()
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            await home.ask("tell me a story")
            await home.rest()
        home.events.clear()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert after - before < 1_000_000, "three stories are some megabytes of sound"
