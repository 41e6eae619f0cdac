"""Waiting for what holds after a change, without looking every so often."""

from __future__ import annotations

import asyncio

import pytest

from agents.base import clock
from agents.models.scripted import ScriptedModel
from audio.changes import Changes
from tests.support.session import Session


async def test_all_who_wait_look_when_a_change_is_told_and_at_no_other_time() -> None:
    changes, looks, done = Changes(), [0, 0], False

    async def wait(number: int) -> bool:
        def condition() -> bool:
            looks[number] += 1
            return done

        return await changes.until(condition)

    waiting = [asyncio.ensure_future(wait(0)), asyncio.ensure_future(wait(1))]
    await asyncio.sleep(60)
    assert looks == [1, 1]
    changes.tell()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert looks == [2, 2]
    changes.tell()
    done = True  # told first, made then
    assert await asyncio.gather(*waiting) == [True, True]
    assert looks == [3, 3]


async def test_a_deadline_ends_the_wait_with_what_holds_then() -> None:
    changes, began = Changes(), clock.now()
    assert not await changes.until(lambda: False, began + 5)
    assert clock.now() - began == pytest.approx(5)
    assert await changes.until(lambda: clock.now() - began >= 9, began + 10)
    assert clock.now() - began == pytest.approx(10)
    assert not await changes.until(lambda: False, began), "a deadline in the past is one"


async def test_a_message_is_said_as_soon_as_a_noise_has_turned_out_to_be_none() -> None:
    """No event tells that a false start is over; the turn engine does."""
    async with Session(ScriptedModel([]), partials=False) as session:
        session.living.speak("", 0.1)
        await session.until(session.voice.user_speaks)
        message = asyncio.ensure_future(session.voice.announce("The post is here."))
        await session.until(lambda: not session.voice.user_speaks())
        await asyncio.sleep(0.05)
        assert session.voice.agent_busy()
        await message
        assert session.of("agent_speech_stopped")[-1].heard == "The post is here."
