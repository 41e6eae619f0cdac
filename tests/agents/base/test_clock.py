from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from agents.base.clock import (
    VirtualLoop,
    blocking_sleep,
    cpu_seconds,
    infer,
    now,
    perf_counter,
    real_time_work,
    run_virtual,
    sleep_until,
    wall,
)


async def test_an_hour_passes_in_no_time() -> None:
    begun, real = now(), perf_counter()
    await asyncio.sleep(3600)
    assert now() - begun == pytest.approx(3600)
    assert perf_counter() - real < 1.0


async def test_timers_fire_in_the_order_of_their_times() -> None:
    order: list[str] = []

    async def note(name: str, after: float) -> None:
        await asyncio.sleep(after)
        order.append(f"{name}@{now():.3f}")

    await asyncio.gather(note("c", 0.3), note("a", 0.1), note("b", 0.2), note("a2", 0.1))
    assert order == ["a@0.100", "a2@0.100", "b@0.200", "c@0.300"]


async def test_time_stands_still_while_anything_can_run() -> None:
    begun = now()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert now() == begun


async def test_waiting_until_a_time_that_has_passed_takes_one_turn_of_the_loop() -> None:
    await sleep_until(now() + 2.5)
    assert now() == pytest.approx(2.5)
    await sleep_until(0.0)
    assert now() == pytest.approx(2.5)


async def test_timeouts_and_cancellation_work_on_virtual_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await asyncio.Event().wait()
    assert now() == pytest.approx(30)
    task = asyncio.create_task(asyncio.sleep(100))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert now() == pytest.approx(31)


async def test_an_inference_is_charged_its_declared_cost_and_not_its_real_one() -> None:
    def slow() -> str:
        blocking_sleep(0.02)
        return "done"

    assert await infer(slow, cost_s=0.4) == "done"
    assert now() == pytest.approx(0.4)


async def test_the_order_of_inferences_depends_on_their_costs_alone() -> None:
    order: list[str] = []

    async def run(name: str, real_s: float, cost_s: float) -> None:
        await infer(lambda: blocking_sleep(real_s), cost_s=cost_s)
        order.append(name)

    await asyncio.gather(run("costly", 0.0, 0.2), run("cheap but slow today", 0.03, 0.1))
    assert order == ["cheap but slow today", "costly"]


async def test_a_failing_inference_raises_where_it_was_awaited() -> None:
    with pytest.raises(ZeroDivisionError):
        await infer(lambda: 1 / 0, cost_s=1.0)


async def test_a_cancelled_inference_stops_waiting() -> None:
    task = asyncio.create_task(infer(lambda: 1, cost_s=10))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert now() == pytest.approx(1)


@pytest.mark.parametrize("own", [False, True])
async def test_time_stands_still_while_a_thread_works(own: bool) -> None:
    fired: list[str] = []
    asyncio.get_running_loop().call_later(0.001, fired.append, "timer")
    with ThreadPoolExecutor(1) as pool:

        def work() -> int:
            blocking_sleep(0.03)
            assert fired == []
            return threading.get_ident()

        thread = await asyncio.get_running_loop().run_in_executor(pool if own else None, work)
    assert thread != threading.get_ident()
    assert now() == 0.0
    await asyncio.sleep(0.01)
    assert fired == ["timer"]


async def test_threads_of_asyncio_hold_time_too() -> None:
    await asyncio.to_thread(blocking_sleep, 0.02)
    assert now() == 0.0


async def test_an_abandoned_thread_does_not_hold_time_for_ever() -> None:
    gate = threading.Event()
    task = asyncio.create_task(asyncio.to_thread(gate.wait, 5))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(60)
    gate.set()
    assert now() == pytest.approx(60)


async def test_a_pool_that_is_closed_does_not_freeze_time() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError):
        await asyncio.get_running_loop().run_in_executor(pool, int)
    await asyncio.sleep(1)
    assert now() == pytest.approx(1)


async def test_time_stands_still_while_something_outside_is_awaited() -> None:
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    outside = threading.Timer(0.03, lambda: loop.call_soon_threadsafe(arrived.set))
    outside.start()
    with real_time_work():
        async with asyncio.timeout(0.001):
            await arrived.wait()
    outside.join()
    assert now() == 0.0


async def test_wall_time_moves_with_virtual_time() -> None:
    before = wall()
    await asyncio.sleep(86_400 * 3)
    assert wall() - before == pytest.approx(timedelta(days=3), abs=timedelta(milliseconds=1))
    assert before.tzinfo is UTC


def test_wall_time_can_start_anywhere() -> None:
    start = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)

    async def main() -> datetime:
        await asyncio.sleep(60)
        return wall()

    assert run_virtual(main(), wall_start=start) == start + timedelta(minutes=1)


def test_real_clocks_are_what_they_say() -> None:
    assert abs((wall() - datetime.now(UTC)).total_seconds()) < 1
    first = cpu_seconds()
    sum(range(100_000))
    assert cpu_seconds() > first


@pytest.mark.realtime
async def test_on_a_real_loop_inference_runs_beside_the_loop() -> None:
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticker = asyncio.create_task(tick())
    with real_time_work():
        await infer(lambda: blocking_sleep(0.05), cost_s=99)
    ticker.cancel()
    assert ticks > 3
