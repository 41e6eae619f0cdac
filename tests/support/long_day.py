"""A day in a household: every episode again and again, in random order, with silences between them, and an alarm clock.

On virtual time. ``scripts/soak household`` lives an autumn day, in whose night the clocks are put back; the tests live
a short spring night, in which they are put forward.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agents.base.clock import now, run_virtual, wall
from agents.everyday.places import system_zone
from tests.support.episodes import EPISODES, question
from tests.support.household import Home, household
from tests.support.inventory import Inventory, growing, take_inventory

ZONE = "Europe/Berlin"
ALARM = "set an alarm for 3:10 am"
MARGIN_S = 300.0
"""No episode begins so shortly before the alarm, since some take minutes."""


@dataclass(frozen=True)
class Night:
    """When a day begins, and how it goes on.

    Attributes:
        begin: its first moment.
        alarm_s: so long afterwards it is ten past three on the clocks of the house.
        pauses_s: silences between episodes, of which each is as likely as the others.
        look_every: episodes between two inventories.
    """

    begin: datetime
    alarm_s: float
    pauses_s: tuple[float, ...]
    look_every: int


AUTUMN = Night(datetime(2026, 10, 24, 23, 59, tzinfo=UTC), 2 * 3600 + 11 * 60.0, (15.0, 60.0, 150.0, 480.0), 10)
"""From two o'clock, less a minute, of the night in which clocks are put back at three; the UTC day changes at once."""

SPRING = Night(datetime(2027, 3, 28, 0, 50, tzinfo=UTC), 20 * 60.0, (4.0, 10.0, 20.0), 5)
"""From ten to two of the night in which clocks are put forward at two. Little happens in long silences."""


@dataclass
class Day:
    """What came of it.

    Attributes:
        hours: how long it was.
        night: how it began.
        tell: gets a line now and then, and each fault.
        episodes: how often each was lived through.
        faults: what went wrong, a line each; empty if nothing did.
        samples: inventories, in order, each of a room at rest.
    """

    hours: float
    night: Night = AUTUMN
    tell: Callable[[str], None] = lambda _: None
    episodes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    samples: list[Inventory] = field(default_factory=list)

    def grown(self) -> dict[str, list[int]]:
        """What grew."""
        return growing(self.samples)

    def kb_per_hour(self) -> float:
        """Growth of the resident memory over the last two thirds of the day."""
        settled = self.samples[len(self.samples) // 3 :]
        share = (len(settled) - 1) / (len(self.samples) - 1)
        return (settled[-1].rss_kb - settled[0].rss_kb) / (self.hours * share)


def live(hours: float, night: Night = AUTUMN, *, seed: int = 1, tell: Callable[[str], None] = lambda _: None) -> Day:
    """Live in the household for so many hours. ``tell`` gets a line now and then, and each fault."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = ZONE
    try:
        with tempfile.TemporaryDirectory() as folder:
            day = Day(hours, night, tell)
            return run_virtual(_live(Path(folder), day, random.Random(seed)), wall_start=night.begin)
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before


async def _live(folder: Path, day: Day, rng: random.Random) -> Day:
    async with household(folder) as home:
        night = day.night
        end = now() + day.hours * 3600
        alarm_at = now() + night.alarm_s
        await home.ask(ALARM)
        await home.rest()
        waiting: list[int] = []
        while now() < end:
            waiting = waiting or rng.sample(range(len(EPISODES)), len(EPISODES))
            episode = EPISODES[waiting.pop()]
            pause_s = rng.choice(night.pauses_s)
            if alarm_at - MARGIN_S < now() + pause_s < alarm_at + 60:
                await _alarm(home, day)
                alarm_at = float("inf")
            else:
                await asyncio.sleep(pause_s)
            await _episode(home, day, episode.__name__, episode(home))
            day.episodes[episode.__name__] += 1
            if day.episodes.total() % night.look_every == 0:
                await _sample(home, day)
                day.tell(f"{_local()}: {day.episodes.total()} episodes, {len(day.faults)} faults")
                day.tell(f"  {day.samples[-1].rss_kb} kB, growing: {day.grown() or 'nothing'}")
        if day.hours * 3600 > night.alarm_s + 600 and alarm_at != float("inf"):
            day.faults.append("the alarm did not ring")
    return day


async def _sample(home: Home, day: Day) -> None:
    """Take an inventory at the beginning of a conversation, so that all are of the same moment."""
    await asyncio.sleep(home.config.conversation.idle_s + 15)
    await _episode(home, day, "question", question(home))
    home.events.clear()
    day.samples.append(take_inventory())


def _local() -> str:
    return wall().astimezone(system_zone()).strftime("%H:%M:%S")


async def _alarm(home: Home, day: Day) -> None:
    """Sleep until the alarm rings, and stop it: ten past three by the clock that people read."""

    async def wake_up() -> None:
        await home.until(lambda: home.ringing, 1800)
        assert _local().startswith("03:10:0"), f"the alarm for ten past three rang at {_local()}"
        await home.until(lambda: "ringing" in home.heard, 30)
        await home.say("Stop.", 0.5)
        await home.until(lambda: not home.ringing, 10)

    await _episode(home, day, "alarm", wake_up())


async def _episode(home: Home, day: Day, name: str, episode: Coroutine[Any, Any, None]) -> None:
    """Live through an episode and see that the home is as it should be afterwards."""
    home.events.clear()
    began = _local()
    try:
        await episode
        await home.rest()
        _check(home)
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is told and the day goes on
        place = traceback.extract_tb(fault.__traceback__)[-1]
        day.faults.append(f"{began} {name}: {type(fault).__name__} {fault} ({place.name}: {place.line})")
        day.tell(day.faults[-1])
        home.restore()
        await asyncio.sleep(120)


def _check(home: Home) -> None:
    """What holds whenever nobody speaks."""
    session = home.daemon.rooms.find("device")
    assert session is not None and home.works, home.daemon.summary()
    assert session.voice.current_mode == "listening", session.voice.current_mode
    assert session.voice.events.faults == 0, "a listener failed"
    assert not session.voice.is_muted and not session.voice.ptt_held
    assert not session.room.player.paused, "the player stands still"
    assert session.room.player.idle, "something sounds"
    assert not home.ringing and not home.daemon.rooms.waiting
    started, stopped = len(home.of("agent_speech_started")), len(home.of("agent_speech_stopped"))
    assert started == stopped, f"speech began {started} times and ended {stopped} times"
