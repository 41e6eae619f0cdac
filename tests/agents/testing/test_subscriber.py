"""A subscriber that remembers can be asked, and waited with."""

from __future__ import annotations

import asyncio

import pytest

from agents.base import clock
from agents.core.events import TextDelta, TokenConsumption, ToolUseResult
from agents.core.glove import Glove
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.testing import Call, RecordingSubscriber, Say, ScriptedModel


def agent(subscriber: RecordingSubscriber) -> Glove:
    async def run(_: NoArgs, __: ToolContext) -> int:
        await asyncio.sleep(2)
        return 7

    model = ScriptedModel([[Say("One moment. "), Call("look")], "It is there."])
    glove = Glove(model=model).fold(Tool("look", "Looks.", run, args=NoArgs)).add_subscriber(subscriber)
    return glove.build()


async def test_events_come_in_order_and_by_kind() -> None:
    subscriber = RecordingSubscriber()
    await agent(subscriber).process_request("where?")
    assert subscriber.text == "One moment. It is there."
    assert subscriber.only(ToolUseResult).result.data == 7
    assert subscriber.types[:2] == ["tool_use", "model_response_complete"]
    with pytest.raises(AssertionError, match="2 events token_consumption instead of one"):
        subscriber.only(TokenConsumption)


async def test_an_event_is_waited_for_and_named_when_it_does_not_come() -> None:
    subscriber = RecordingSubscriber()
    turn = asyncio.ensure_future(agent(subscriber).process_request("where?"))
    await subscriber.wait_for(ToolUseResult, lambda event: event.name == "look")
    assert clock.now() == pytest.approx(2)
    assert (await subscriber.wait_for(TextDelta)).text == "One "
    since = len(subscriber.events)
    assert (await subscriber.wait_for(TextDelta, since=since)).text == "It "
    await turn
    with pytest.raises(AssertionError, match=r"no event tool_use_result within 3\.0 s, only .*token_consumption"):
        await subscriber.wait_for(ToolUseResult, since=len(subscriber.events), limit_s=3.0)
