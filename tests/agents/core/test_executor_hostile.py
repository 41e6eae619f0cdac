"""Tools that misbehave: whatever they return, raise or change, the turn goes on and history stays readable."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from agents.base import clock
from agents.core.events import ToolUseResult
from agents.core.glove import Glove
from agents.core.messages import Message, ToolResultData
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from agents.stores.sqlite import SqliteStore
from tests.agents.core.scene import Ear, returning, tool


async def outcome(each: Tool[Any], given: Any = None) -> ToolUseResult:
    """What one call of the tool leads to; the turn must end with the model's answer, and the results must be kept."""
    ear, store = Ear(), SqliteStore(":memory:")
    glove = Glove(model=ScriptedModel([Call(each.name, given), "Done."]), store=store).fold(each).add_subscriber(ear)
    reply = await glove.build().process_request("go")
    assert reply.text == "Done."
    (stored,) = [result for message in await store.get_messages() for result in message.tool_results or ()]
    (event,) = ear.of(ToolUseResult)
    assert (stored.result.status, stored.result.message) == (event.result.status, event.result.message)
    await store.close()
    return event


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("not even a name")

    __repr__ = __str__


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def endless() -> Iterator[int]:
    yield from itertools.count()


@pytest.mark.parametrize("value", [circle(), Unprintable(), endless(), {"deep": [Unprintable()]}])
async def test_what_cannot_be_written_as_json_is_an_error_and_the_tool_is_not_run_again(value: Any) -> None:
    runs: list[int] = []

    async def run(_: Any, __: ToolContext) -> Any:
        runs.append(1)
        return value

    event = await outcome(tool("t", run))
    assert event.result.status == "error"
    assert "t ran, but what it returned cannot be written as JSON" in (event.result.message or "")
    assert len(runs) == 1


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, math.nan, "half \ud83d", 10**400, object])
async def test_odd_values_become_something_that_can_be_kept(value: Any) -> None:
    assert (await outcome(tool("t", returning(value)))).result.status == "success"


async def test_ten_megabytes_reach_neither_the_model_nor_history() -> None:
    model = ScriptedModel([Call("t"), "Done."])
    glove = Glove(model=model).fold(tool("t", returning("x" * 10_000_000))).build()
    await glove.process_request("go")
    (told,) = [result.result for message in model.requests[-1].messages for result in message.tool_results or ()]
    assert len(told.data) < 100_200
    assert told.data.endswith("[Cut: these are the first 100000 of 10000000 characters. Ask for less to see the rest.]")
    assert sum(len(message.model_dump_json()) for message in await glove.store.get_messages()) < 105_000


async def test_long_structures_are_cut_as_json_and_screens_get_all() -> None:
    rows = [{"row": number} for number in range(100)]
    data = ToolResultData(data=rows, renderData=rows)
    event = await outcome(tool("t", returning(data), max_result_chars=20))
    assert event.result.data.startswith('[{"row":0},{"row":1}\n[Cut')
    assert event.result.renderData == rows
    exactly = await outcome(tool("t", returning("x" * 20), max_result_chars=20))
    assert exactly.result.data == "x" * 20


async def test_the_text_of_an_error_is_bounded_too() -> None:
    async def run(_: Any, __: ToolContext) -> None:
        raise RuntimeError("x" * 10_000_000)

    assert len((await outcome(tool("t", run))).result.message or "") < 5_000


class Odd(BaseException):
    """Not an ``Exception``."""


@pytest.mark.parametrize("fault", [SystemExit(3), GeneratorExit(), Odd("odd"), BaseExceptionGroup("all", [Odd()])])
async def test_a_tool_cannot_end_the_program(fault: BaseException) -> None:
    async def run(_: Any, __: ToolContext) -> None:
        raise fault

    event = await outcome(tool("t", run))
    assert event.result.status == "error"
    assert f"the tool t raised {type(fault).__name__}" in (event.result.message or "")


async def test_a_tool_that_never_ends_is_stopped_at_its_limit_and_not_tried_again() -> None:
    stopped: list[float] = []

    async def run(_: Any, __: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(clock.now())

    event = await outcome(tool("t", run, time_limit_s=2.5))
    assert (event.result.status, event.result.message) == ("error", "t did not end within 2.5 s and was stopped.")
    assert stopped == [pytest.approx(2.5, abs=0.05)]


async def test_a_timeout_of_the_tools_own_is_an_error_like_any_other() -> None:
    runs: list[int] = []

    async def run(_: Any, __: ToolContext) -> str:
        runs.append(1)
        if len(runs) == 1:
            raise TimeoutError("the server")
        return "ok"

    assert (await outcome(tool("t", run, time_limit_s=5))).result.data == "ok"


class Basket(BaseModel):
    things: list[Any]


@pytest.mark.parametrize("args", [None, Basket])
async def test_what_a_tool_does_to_its_input_is_seen_by_nobody(args: type[BaseModel] | None) -> None:
    seen: list[Any] = []

    async def run(given: Any, _: ToolContext) -> str:
        things = given["things"] if isinstance(given, dict) else given.things
        seen.append([*things])
        things[0]["sort"] = "rotten"
        things.clear()
        if len(seen) < 3:
            raise RuntimeError("again")
        return "ok"

    fields: dict[str, Any] = {"args": args} if args else {}
    glove = Glove(model=ScriptedModel([Call("t", {"things": [{"sort": "fresh"}]}), "Done."])).fold(
        tool("t", run, **fields)
    )
    await glove.build().process_request("go")
    assert [len(things) for things in seen] == [1, 1, 1]
    (call,) = [call for message in await glove.store.get_messages() for call in message.tool_calls or ()]
    assert call.input_args == {"things": [{"sort": "fresh"}]}


async def test_a_summary_that_cannot_be_kept_costs_only_the_summary() -> None:
    async def shorten(_: Any) -> str:
        return "short"

    event = await outcome(
        tool("t", returning(ToolResultData(data="long", generateSummaryArgs=circle())), generate_summary=shorten)
    )
    assert (event.result.status, event.result.data, event.result.summary) == ("success", "long", None)


async def test_cancelling_the_caller_at_any_moment_of_a_tool_leaves_a_result() -> None:
    async def run(_: Any, __: ToolContext) -> str:
        for _step in range(4):
            await asyncio.sleep(1)
        return "done"

    for steps in range(1, 40):
        glove = Glove(model=ScriptedModel([Call("t"), "Done.", "Again."])).fold(tool("t", run)).build()
        turn = asyncio.ensure_future(glove.process_request("go"))
        await asyncio.sleep(steps * 0.125)
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        history = await glove.store.get_messages()
        assert _answered(history), f"after {steps} steps: {history}"
        assert not glove.busy


def _answered(history: list[Message]) -> bool:
    calls = [call.id for message in history for call in message.tool_calls or ()]
    results = [result.call_id for message in history for result in message.tool_results or ()]
    return calls == results
