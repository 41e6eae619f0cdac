"""Without a language model, events are told in their own words and none is lost."""

from __future__ import annotations

import asyncio

import pytest

from agents.core.glove import Glove
from agents.core.messages import EventRecord, InboxItem, Message
from agents.core.model import ModelAdapter, Sentences
from agents.models.honest import HonestModel
from agents.models.intents import IntentFirst
from agents.models.smollm import SmolLmModel
from agents.models.told import news
from tests.agents.core.scene import returning, tool
from tests.agents.models.test_smollm import FakeRuntime


def small() -> ModelAdapter:
    return SmolLmModel(load=lambda: FakeRuntime(["Nice."]))


@pytest.mark.parametrize("make", [HonestModel, small])
async def test_an_event_that_wakes_the_agent_is_simply_said(make: type[ModelAdapter]) -> None:
    glove = Glove(model=IntentFirst(make())).build()
    await glove.emit_event("e1", "shell", "note", "The washing is <done>.")
    await asyncio.sleep(1)
    assert (await glove.store.get_messages())[-1].text == "The washing is <done>."


async def test_an_event_that_waited_is_said_after_the_answer_of_a_tool() -> None:
    time = tool("time", returning("It is four."), sentences=(Sentences("en", ("what time is it",)),))
    glove = Glove(model=IntentFirst(HonestModel())).fold(time).build()
    await glove.emit_event("e1", "shell", "note", "The post is here.", when_idle="defer")
    assert (await glove.process_request("what time is it", language="en")).text == "It is four. The post is here."
    assert (await glove.process_request("what time is it", language="en")).text == "It is four."


async def test_context_beside_the_conversation_changes_nothing_for_sentences_and_events() -> None:
    time = tool("time", returning("It is four."), sentences=(Sentences("en", ("what time is it",)),))
    glove = Glove(model=IntentFirst(HonestModel())).fold(time).build()
    for delivery in ("iteration", "request", "history"):
        glove.add_context_provider(lambda _: "It rains.", delivery=delivery, key="weather")  # type: ignore[arg-type]
    await glove.store.add_inbox_item(InboxItem(id="i1", tag="bank", request="approve?", blocking=True))
    assert (await glove.process_request("what time is it", language="en")).text == "It is four."
    await glove.emit_event("e1", "shell", "note", "The post is here.", when_idle="wake")
    await asyncio.sleep(1)
    assert (await glove.store.get_messages())[-1].text == "The post is here."


async def test_an_event_that_waited_is_said_before_an_answer_that_cannot_be_given() -> None:
    glove = Glove(model=IntentFirst(HonestModel())).build()
    await glove.emit_event("e1", "shell", "note", "The post is here.", when_idle="defer")
    assert (await glove.process_request("why?", language="en")).text.startswith("The post is here. I can't answer that")


def test_what_was_told_before_the_last_answer_is_no_news() -> None:
    def event(text: str) -> Message:
        return Message(
            sender="user", framework_context="event", events=[EventRecord(id=text, source="s", kind="k", text=text)]
        )

    old, new, newer = event("old"), event("new"), event("newer")
    asked, answered = Message(sender="user", text="hm?"), Message(sender="agent", text="Yes.")
    assert news([old, asked, answered, new, asked, newer]) == ["new", "newer"]
    assert news([old, Message(sender="user", is_compaction=True), asked]) == []
