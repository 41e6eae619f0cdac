"""A loop that stands still is noticed, with what held it up."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from agents.base.clock import blocking_sleep
from appliance.daemon.stalls import StallWatch


def hold_up_the_loop(seconds: float) -> None:
    blocking_sleep(seconds)


@pytest.mark.realtime
def test_a_stall_is_counted_and_reported_once_with_its_stack() -> None:
    # A wide limit: a busy machine must not look like a stall.
    watch = StallWatch(limit_s=0.4)

    async def live() -> None:
        watch.start()
        watch.start()
        await asyncio.sleep(0.1)
        assert watch.stalls == 0
        hold_up_the_loop(1.0)
        await asyncio.sleep(0)

    with structlog.testing.capture_logs() as logs, asyncio.Runner(loop_factory=watch.make_loop) as runner:
        runner.run(live())
    watch.close()
    watch.close()
    assert watch.stalls == 1 and watch.longest_s >= 0.9
    assert [entry["event"] for entry in logs] == ["the event loop stands still", "the event loop stood still"]
    assert all("hold_up_the_loop" in entry["where"] and entry["log_level"] == "warning" for entry in logs)


@pytest.mark.realtime
def test_a_stall_that_nobody_notices_is_no_warning() -> None:
    watch = StallWatch(limit_s=0.05)

    async def live() -> None:
        hold_up_the_loop(0.3)  # nobody is listening yet
        await asyncio.sleep(0)
        watch.start()
        await asyncio.sleep(0.1)
        hold_up_the_loop(0.13)
        await asyncio.sleep(0)

    with structlog.testing.capture_logs() as logs, asyncio.Runner(loop_factory=watch.make_loop) as runner:
        runner.run(live())
    watch.close()
    assert watch.stalls >= 2
    assert {entry["log_level"] for entry in logs} == {"info"}
    assert any("hold_up_the_loop" in entry["where"] for entry in logs)


@pytest.mark.realtime
def test_a_loop_that_waits_does_not_stand_still() -> None:
    watch = StallWatch(limit_s=0.2)

    async def live() -> None:
        watch.start()
        await asyncio.sleep(0.6)

    with structlog.testing.capture_logs() as logs, asyncio.Runner(loop_factory=watch.make_loop) as runner:
        runner.run(live())
    watch.close()
    assert watch.stalls == 0 and not logs
