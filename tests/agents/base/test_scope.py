from __future__ import annotations

import asyncio

import pytest
import structlog

from agents.base.backoff import Backoff
from agents.base.clock import now
from agents.base.errors import GloveError
from agents.base.scope import Scope


async def test_closing_stops_every_child_and_reports_nothing_when_all_obey() -> None:
    scope = Scope("room")
    tasks = [scope.spawn(asyncio.sleep(1000), f"child-{i}") for i in range(3)]
    await asyncio.sleep(0)
    assert await scope.close() == []
    assert all(task.cancelled() for task in tasks)
    assert scope.closed


async def test_a_child_that_will_not_stop_is_named_and_closing_returns_anyway() -> None:
    scope = Scope("room")
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = scope.spawn(stubborn(), "stubborn")
    await asyncio.sleep(0)
    assert await scope.close(timeout_s=5) == ["room/stubborn"]
    assert now() == pytest.approx(5)
    release.set()
    await task


async def test_a_closed_scope_takes_no_children() -> None:
    scope = Scope("room")
    await scope.close()
    with pytest.raises(RuntimeError, match="closed"):
        scope.spawn(asyncio.sleep(1), "late")


async def test_closing_an_empty_scope_twice_is_harmless() -> None:
    scope = Scope("room")
    assert await scope.close() == []
    assert await scope.close() == []


async def test_a_child_may_close_its_own_scope() -> None:
    scope = Scope("room")
    other = scope.spawn(asyncio.sleep(1000), "other")
    result = await scope.spawn(scope.close(), "closer")
    assert result == []
    assert other.cancelled()


async def test_a_failing_child_is_reported_and_its_siblings_go_on() -> None:
    faults: list[tuple[str, str]] = []
    scope = Scope("room", on_fault=lambda name, fault: faults.append((name, str(fault))))

    async def fail() -> None:
        await asyncio.sleep(1)
        raise OSError("unplugged")

    scope.spawn(fail(), "capture")
    sibling = scope.spawn(asyncio.sleep(2, "well"), "sibling")
    assert await sibling == "well"
    assert faults == [("room/capture", "unplugged")]
    await scope.close()


async def test_a_supervised_child_is_restarted_with_growing_pauses_until_it_succeeds() -> None:
    scope, starts = Scope("room"), []

    async def work() -> str:
        starts.append(now())
        if len(starts) < 4:
            raise OSError("not yet")
        return "up"

    await scope.supervise(work, "link", Backoff(first_s=1, cap_s=3))
    assert starts == pytest.approx([0, 1, 3, 6])
    await scope.close()


async def test_a_failure_that_repeats_itself_is_a_warning_once() -> None:
    scope, faults = Scope("room"), iter([OSError("taken"), OSError("taken"), OSError("taken"), OSError("forbidden")])

    async def work() -> None:
        if (fault := next(faults, None)) is not None:
            raise fault

    with structlog.testing.capture_logs() as logs:
        await scope.supervise(work, "page", Backoff())
    assert [entry["log_level"] for entry in logs] == ["warning", "info", "info", "warning"]
    await scope.close()


async def test_a_supervised_child_that_exhausts_its_budget_is_a_fault() -> None:
    faults: list[str] = []
    scope, starts = Scope("room", on_fault=lambda name, fault: faults.append(name)), []

    async def work() -> None:
        starts.append(now())
        raise OSError("never")

    with pytest.raises(OSError, match="never"):
        await scope.supervise(work, "link", Backoff(first_s=1, budget=2))
    await asyncio.sleep(0)
    assert len(starts) == 3
    assert faults == ["room/link"]
    await scope.close()


async def test_a_hundred_idle_closes_of_three_minutes_are_no_failure() -> None:
    scope, runs = Scope("room"), 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        await asyncio.sleep(180)
        if runs <= 100:
            raise ConnectionError("idle close")

    await scope.supervise(work, "stt", Backoff(budget=4))
    assert runs == 101
    await scope.close()


async def test_closing_stops_a_supervised_child_between_two_attempts() -> None:
    scope, starts = Scope("room"), 0

    async def work() -> None:
        nonlocal starts
        starts += 1
        raise OSError("no")

    scope.supervise(work, "link", Backoff(first_s=10))
    await asyncio.sleep(1)
    assert await scope.close() == []
    await asyncio.sleep(60)
    assert starts == 1


async def test_a_named_fault_that_the_owner_receives_is_not_reported_twice() -> None:
    told: list[BaseException] = []
    scope = Scope("room", on_fault=lambda _, fault: told.append(fault))

    async def fail(fault: Exception) -> None:
        raise fault

    named, unnamed = GloveError("ERR_DISK_FULL", "There is no room left."), ValueError("a defect")
    with structlog.testing.capture_logs() as logs:
        for fault in (named, unnamed):
            await asyncio.wait([scope.spawn(fail(fault), "pump")])
    assert told == [named, unnamed]
    assert [entry["log_level"] for entry in logs] == ["info", "error"]
    assert "exc_info" not in logs[0]
