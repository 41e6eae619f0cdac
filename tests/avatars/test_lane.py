from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agents.base.clock import run_virtual
from avatars import lane as lanes
from avatars.contract import AvatarError
from avatars.lane import Lane


class Road:
    """A lane, what its steps have done, and its faults."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.faults: list[AvatarError] = []
        self.lane = Lane("test", self.faults.append)

    def step(self, name: str, *, takes_s: float = 0.0, fails: bool = False) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await asyncio.sleep(takes_s)
            if fails:
                raise ConnectionError(name)
            self.done.append(name)

        return run


def test_steps_run_one_at_a_time_in_their_order_however_long_they_take() -> None:
    async def main() -> None:
        road = Road()
        road.lane.put(road.step("slow", takes_s=1.0))
        road.lane.put(road.step("quick"))
        await asyncio.sleep(0.5)
        assert road.done == []
        await asyncio.sleep(0.6)
        assert road.done == ["slow", "quick"]

    run_virtual(main())


def test_a_step_that_fails_or_hangs_does_not_stop_the_next_and_is_told_once() -> None:
    async def main() -> None:
        road = Road()
        for name in ("a", "b"):
            road.lane.put(road.step(name, fails=True))
        road.lane.put(road.step("good"))
        road.lane.put(road.step("hangs", takes_s=1000.0))
        road.lane.put(road.step("last"))
        await asyncio.sleep(11.0)
        assert road.done == ["good", "last"]
        assert [fault.code for fault in road.faults] == ["ERR_AVATAR_DELIVERY"] * 2
        assert "in time" in road.faults[1].message

    run_virtual(main())


def test_dropping_sound_leaves_what_is_no_sound_and_the_step_under_way() -> None:
    async def main() -> None:
        road = Road()
        for name in ("s1", "s2", "s3"):
            road.lane.put(road.step(name, takes_s=0.1), is_sound=True)
        road.lane.put(road.step("end"))
        await asyncio.sleep(0.05)
        road.lane.drop_sound()
        await asyncio.sleep(1.0)
        assert road.done == ["s1", "end"]

    run_virtual(main())


def test_nothing_begins_while_it_is_paused_and_nothing_is_left_after_closing() -> None:
    async def main() -> None:
        road = Road()
        road.lane.pause()
        road.lane.put(road.step("a"))
        await asyncio.sleep(60.0)
        assert road.done == []
        road.lane.resume()
        await asyncio.sleep(0.1)
        assert road.done == ["a"]
        road.lane.put(road.step("b", takes_s=1.0))
        await road.lane.close()
        await road.lane.close()
        await asyncio.sleep(2.0)
        assert road.done == ["a"]
        assert road.faults == []

    run_virtual(main())


def test_what_waits_is_bounded_and_the_oldest_sound_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_STEPS", 3)

    async def main() -> None:
        road = Road()
        road.lane.pause()
        road.lane.put(road.step("open"))
        for name in ("s1", "s2", "s3", "s4"):
            road.lane.put(road.step(name), is_sound=True)
        road.lane.resume()
        await asyncio.sleep(0.1)
        assert road.done == ["open", "s3", "s4"]
        assert road.lane.dropped == 2

    run_virtual(main())
