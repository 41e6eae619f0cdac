"""A room's agent is one agent to whoever uses it, whatever conversation it is in."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.runnable import Runnable
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.scripted import ScriptedModel
from appliance.daemon.conversations import RoomAgent
from appliance.session.mind import Mind
from tests.agents.core.scene import sent


def room(model: ScriptedModel) -> RoomAgent:
    book = EverydayBook(None)
    return RoomAgent(Mind(model, (), book, TimerBook(book), book, None, "Be brief."), idle_s=60)


async def test_what_takes_part_in_turns_goes_along_into_the_next_conversation() -> None:
    model, prepared = ScriptedModel(lambda _: "ok"), []
    agent = room(model)
    remove = agent.add_context_provider(lambda _: "at home", delivery="history", key="place")
    agent.add_context_provider(lambda _: "it rains", delivery="request")
    agent.add_turn_preparer(lambda _: prepared.append(agent.conversation_id))
    await agent.process_request("hi")
    await asyncio.sleep(100)
    await agent.process_request("hello")
    assert len(set(prepared)) == 2
    shown = ['user: <context key="place">at home</context>', "user: it rains"]
    assert [sent(request.messages) for request in model.requests] == [[*shown, "user: hi"], [*shown, "user: hello"]]
    assert [message.text for message in await agent.get_runtime_context(delivery="request")] == ["it rains"]
    remove()
    assert [message.text for message in await agent.get_runtime_context()] == ["it rains"]
    await agent.close()


async def test_a_model_is_asked_ahead_only_in_a_conversation_that_goes_on() -> None:
    model = ScriptedModel(lambda request: f"To {request.messages[-1].text}")
    agent = room(model)
    assert await agent.rehearse("hi", AbortToken()) is False
    await agent.process_request("hi")
    ahead = asyncio.create_task(agent.rehearse("bye", AbortToken()))
    await asyncio.sleep(0.1)
    assert (await agent.process_request("bye")).text == "To bye"
    assert await ahead is True and len(model.requests) == 2
    await asyncio.sleep(100)
    assert await agent.rehearse("hello", AbortToken()) is False, "the next turn begins another conversation"
    assert len(model.requests) == 2
    await agent.close()


async def test_a_key_that_is_taken_is_refused_before_any_conversation_begins() -> None:
    agent: Runnable = room(ScriptedModel())
    agent.add_context_provider(lambda _: "a", delivery="history", key="place")
    with pytest.raises(GloveError, match="taken"):
        agent.add_context_provider(lambda _: "b", delivery="history", key="place")


async def test_a_turn_that_an_event_starts_can_be_run_through_the_room() -> None:
    model = ScriptedModel(lambda _: "The washing is done.")
    agent = room(model)
    agent.set_wake_handler(lambda wake: agent.process_request(wake, language="en"))
    await agent.emit_event("e1", "shell", "note", "washing", when_idle="wake")
    await asyncio.sleep(1)
    assert [line[1] for line in await agent.history()] == ["The washing is done."]
    await agent.close()
