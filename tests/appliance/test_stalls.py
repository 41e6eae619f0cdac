"""A loop that stands still is noticed, with what held it up."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from agents.base.clock import blocking_sleep
from appliance.stalls import StallWatch


def hold_up_the_loop(seconds: float) -> None:
    blocking_sleep(seconds)


@pytest.mark.realtime
async def test_a_stall_is_reported_once_with_its_stack() -> None:
    # Wide limits: a busy machine must not look like a stall.
    watch = StallWatch(limit_s=0.4)
    with structlog.testing.capture_logs() as logs:
        watch.start()
        await asyncio.sleep(0.1)
        assert watch.stalls == 0
        hold_up_the_loop(1.0)
        async with asyncio.timeout(5):
            while watch.stalls == 0:
                await asyncio.sleep(0.05)
    watch.close()
    watch.close()
    assert watch.longest_s >= 0.6
    assert "hold_up_the_loop" in logs[0]["where"]
