"""A session that is stopped and started again while the appliance speaks unasked."""

from __future__ import annotations

import asyncio

from agents.models.scripted import ScriptedModel
from tests.support.session import Session

LONG = "One two three four five six seven eight nine ten."


async def test_a_narration_ends_with_the_session_and_the_next_session_converses() -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        first = asyncio.create_task(session.voice.narrate(LONG))
        await session.until(lambda: session.of("agent_speech_started"))
        await session.voice.stop()
        assert not session.voice.is_active and session.voice.current_mode == "idle"
        await session.voice.start()
        second = asyncio.create_task(session.voice.narrate("Three little words."))
        await asyncio.gather(first, second)
        assert not session.voice.is_muted
        assert session.of("agent_speech_stopped")[-1].heard == "Three little words."
        await session.say("Hello there.")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Yes."


async def test_the_microphone_stays_muted_while_one_narration_follows_another() -> None:
    async with Session(ScriptedModel([]), partials=False) as session:
        first = asyncio.create_task(session.voice.narrate(LONG))
        await asyncio.sleep(0.02)
        session.voice.interrupt()
        second = asyncio.create_task(session.voice.narrate(LONG))
        await first
        await asyncio.sleep(0.5)
        assert session.voice.is_muted and not second.done()
        await second
        assert not session.voice.is_muted


async def test_a_narration_that_still_waits_when_the_session_stops_is_not_spoken() -> None:
    async with Session(ScriptedModel([LONG]), partials=False) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        waiting = asyncio.create_task(session.voice.narrate("Three little words."))
        await asyncio.sleep(0.1)
        await session.voice.stop()
        await session.voice.start()
        await asyncio.wait_for(waiting, 5)
        await asyncio.sleep(1.0)
        assert [event.text for event in session.of("agent_says")] == []


async def test_an_announcement_does_not_begin_in_a_session_that_is_being_stopped() -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        narration = asyncio.create_task(session.voice.narrate(LONG))
        await session.until(lambda: session.of("agent_speech_started"))
        stopping = asyncio.create_task(session.voice.stop())
        await asyncio.sleep(0)
        await asyncio.wait_for(session.voice.announce("Your timer is done.", urgent=True), 5)
        await asyncio.gather(stopping, narration)
        assert not session.of("agent_says")[1:], "there is no voice any more"
        await session.voice.start()
        session.voice.say_to_agent("Hello there.")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Yes."
