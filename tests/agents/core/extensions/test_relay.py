"""What a subagent does is heard of while it works, and not a moment longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.core.events import (
    CompactionEnd,
    CompactionStart,
    SubagentCompleted,
    SubagentInvoked,
    Subscriber,
    TextDelta,
)
from agents.core.extensions.relay import Relay
from agents.core.extensions.subagents import INVOKE_SUBAGENT
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.models.scripted import Call, ScriptedModel
from tests.agents.core.scene import Ear


async def test_what_comes_late_is_not_passed_on() -> None:
    ear = Ear()
    relay = Relay(ear.record)
    await relay.record(TextDelta("in time"))
    await relay.close()
    await relay.record(TextDelta("late"))
    assert ear.text == "in time"


async def test_closing_ends_what_is_open_from_the_inside_out_and_only_once() -> None:
    ear = Ear()
    relay = Relay(ear.record)
    for event in (
        SubagentInvoked("a", "x"), CompactionStart(7), CompactionEnd(3, "s"),
        SubagentInvoked("b", "y"), SubagentCompleted("b", "success"), SubagentInvoked("c", "z"), CompactionStart(9),
    ):  # fmt: skip
        await relay.record(event)
    before = len(ear.events)
    await relay.close()
    await relay.close()
    assert [(event.type, getattr(event, "name", "")) for event in ear.events[before:]] == [
        ("compaction_end", ""), ("subagent_completed", "c"), ("subagent_completed", "a"),
    ]  # fmt: skip


class Stranger:
    """An agent that is no ``Glove``."""

    def __init__(self, fault: Exception | None) -> None:
        self.subscribers: list[Subscriber] = []
        self.fault = fault
        self.asked: list[tuple[str, str | None]] = []

    async def process_request(
        self, request: str, abort: AbortToken | None = None, *, language: str | None = None
    ) -> Message:
        self.asked.append((request, language))
        (subscriber,) = self.subscribers
        await subscriber.record(TextDelta("I am at it.", "r"))
        await asyncio.sleep(1)
        if self.fault is not None:
            raise self.fault
        return Message(sender="agent", text="Done.")

    def add_subscriber(self, subscriber: Subscriber) -> Any:
        self.subscribers.append(subscriber)

    def remove_subscriber(self, subscriber: Subscriber) -> Any:
        self.subscribers.remove(subscriber)


@pytest.mark.parametrize("fault", [None, ValueError("broken"), Aborted("by itself")])
async def test_any_agent_can_do_the_work_and_is_given_back_as_it_was(fault: Exception | None) -> None:
    stranger, ear = Stranger(fault), Ear()
    model = ScriptedModel([[Call(INVOKE_SUBAGENT, {"name": "other", "prompt": "Work."})], "Ok."])
    glove = Glove(model=model).define_sub_agent("other", lambda _: stranger).add_subscriber(ear).build()
    latecomer = Ear()
    asyncio.get_running_loop().call_later(0.5, lambda: glove.add_subscriber(latecomer))
    await glove.process_request("go", language="de")
    assert stranger.subscribers == []
    assert stranger.asked == [("Work.", "de")]
    assert ear.text == "I am at it.Ok."
    assert latecomer.types[0] == "subagent_completed", "whoever joins meanwhile hears the rest"
