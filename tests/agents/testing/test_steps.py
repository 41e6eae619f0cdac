"""A sweep visits every step of every task, the same each time, and says where something went wrong."""

from __future__ import annotations

import asyncio

import pytest

from agents.testing import Steps, left_behind, sweep


async def test_steps_of_all_tasks_are_counted_and_results_pass_through() -> None:
    async def child() -> str:
        await asyncio.sleep(1)
        return "result"

    async def failing() -> None:
        await asyncio.sleep(0)
        raise KeyError("as it was")

    steps = Steps()
    with steps.counting():
        assert await asyncio.create_task(child()) == "result"
        with pytest.raises(KeyError, match="as it was"):
            await asyncio.create_task(failing())
    assert steps.count == 4


async def test_cancelling_reaches_the_work_itself() -> None:
    ended: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            ended.append("tidied up")
            raise

    with Steps().counting():
        task = asyncio.create_task(careful())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (task.cancelled(), ended) == (True, ["tidied up"])


def test_a_sweep_finds_the_one_bad_moment() -> None:
    visited: list[int | None] = []

    async def scenario(step: int | None) -> int:
        visited.append(step)
        half_done = interrupted_there = False
        steps = Steps(step, lambda: interrupted.append(half_done))
        interrupted: list[bool] = []

        async def work() -> None:
            nonlocal half_done
            await asyncio.sleep(1)
            half_done = True
            await asyncio.sleep(1)
            half_done = False
            await asyncio.sleep(1)

        with steps.counting():
            await asyncio.create_task(work())
        interrupted_there = any(interrupted)
        assert not interrupted_there
        return steps.count

    with pytest.raises(AssertionError) as found:
        sweep(scenario)
    assert found.value.__notes__ == ["at place 3 of 4"]
    assert visited == [None, 1, 2, 3]


def test_every_tenth_step_is_a_tenth() -> None:
    async def scenario(step: int | None) -> int:
        async def work() -> None:
            for _ in range(99):
                await asyncio.sleep(0)

        with (steps := Steps(step, lambda: None)).counting():
            await asyncio.create_task(work())
        return steps.count

    assert (sweep(scenario), sweep(scenario, every=10), sweep(scenario, every=10, first=5)) == (100, 10, 10)


async def test_tasks_that_are_left_are_named() -> None:
    task = asyncio.create_task(asyncio.sleep(9), name="forgotten")
    assert left_behind() == ["forgotten"]
    assert left_behind([task]) == []
    task.cancel()
