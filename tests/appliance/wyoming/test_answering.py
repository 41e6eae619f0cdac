"""Lines of Wyoming clients: a conversation goes on, the oldest are forgotten, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agents.base.errors import GloveError
from appliance.daemon.conversations import RoomAgent
from appliance.session.build import load_parts
from appliance.wyoming.answering import MOST_CONVERSATIONS, Answers
from tests.appliance.house import simulated


@asynccontextmanager
async def answering(answer_s: float = 60.0) -> AsyncIterator[Answers]:
    parts = await load_parts(simulated(), lasting_timers=False)
    answers = Answers(parts.mind, 300.0, answer_s)
    try:
        yield answers
    finally:
        await answers.close()
        await answers.close()
        await parts.close()


async def test_a_conversation_goes_on_by_its_name() -> None:
    async with answering() as answers:
        text, name = await answers("what is two plus two", "en", None)
        assert "4" in text and name
        _, again = await answers("what is three plus three", "en", name)
        _, other = await answers("what is one plus one", "en", None)
        assert again == name != other
        history = await answers._agents[name].history()
        assert [said for who, said in history if who == "user"] == ["what is two plus two", "what is three plus three"]


async def test_the_oldest_conversations_are_forgotten() -> None:
    async with answering() as answers:
        for index in range(MOST_CONVERSATIONS + 3):
            await answers("what is two plus two", "en", f"talk {index}")
        assert list(answers._agents) == [f"talk {index}" for index in range(3, MOST_CONVERSATIONS + 3)]


async def test_an_answer_that_is_awaited_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, free = RoomAgent.process_request, asyncio.Event()

    async def slow(self: RoomAgent, request: Any, *others: Any, **named: Any) -> Any:
        if request == "wait":
            await free.wait()
            request = "what is two plus two"
        return await plain(self, request, *others, **named)

    monkeypatch.setattr(RoomAgent, "process_request", slow)
    async with answering() as answers:
        awaited = asyncio.ensure_future(answers("wait", "en", "first"))
        for index in range(MOST_CONVERSATIONS + 1):
            await answers("what is two plus two", "en", f"talk {index}")
        assert "first" in answers._agents and len(answers._agents) == MOST_CONVERSATIONS
        free.set()
        assert "4" in (await awaited)[0]


async def test_an_answer_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(RoomAgent, "process_request", never)
    async with answering(answer_s=5.0) as answers:
        with pytest.raises(GloveError) as caught:
            await answers("hello", None, None)
        assert caught.value.code == "ERR_WYOMING_SLOW"
