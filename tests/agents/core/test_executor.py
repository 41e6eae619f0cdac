"""Tools: found whatever the case, checked before they run, tried again when they break, never left without a result."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.display import DisplayManager, SlotPushed
from agents.core.events import ToolUseResult
from agents.core.glove import Glove
from agents.core.messages import ToolResultData
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from tests.agents.core.scene import Ear, Where, returning, story, tool


async def results(*calls: Call, tools: list[Tool[Any]], abort: AbortToken | None = None) -> list[ToolUseResult]:
    """The outcomes of one batch of ``calls``."""
    ear = Ear()
    glove = Glove(model=ScriptedModel([list(calls), "done"]), builtin_tools=False).add_subscriber(ear)
    for each in tools:
        glove.fold(each)
    await glove.build().process_request("go", abort)
    return ear.of(ToolUseResult)


class Flaky:
    """Fails a number of times, then succeeds."""

    def __init__(self, failures: int) -> None:
        self.calls = 0
        self._failures = failures

    async def run(self, _: Any, __: ToolContext) -> str:
        self.calls += 1
        if self.calls <= self._failures:
            raise RuntimeError(f"failure {self.calls}")
        return "worked"


async def test_names_are_found_whatever_their_case() -> None:
    (outcome,) = await results(Call("LOOK"), tools=[tool("look", returning("seen"))])
    assert (outcome.result.status, outcome.result.data) == ("success", "seen")


async def test_an_unknown_name_is_answered_with_near_ones_and_all_of_them() -> None:
    tools = [tool("set_timer", returning(1)), tool("weather", returning(1))]
    (outcome,) = await results(Call("timer"), tools=tools)
    assert outcome.result.status == "error"
    assert "Did you mean set_timer?" in (outcome.result.message or "")
    assert "Registered tools: set_timer, weather" in (outcome.result.message or "")
    (alone,) = await results(Call("timer"), tools=[])
    assert "no tools are registered" in (alone.result.message or "")


async def test_wrong_arguments_are_explained_and_not_tried_again() -> None:
    flaky = Flaky(0)
    (outcome,) = await results(Call("look", {"plase": "x"}), tools=[tool("look", flaky.run, args=Where)])
    assert (outcome.result.status, outcome.result.message) == ("error", "TOOL_INPUT_INVALID")
    assert outcome.result.data == "place: Field required"
    assert flaky.calls == 0


async def test_tools_with_a_raw_schema_get_what_the_model_sent() -> None:
    async def echo(given: Any, _: ToolContext) -> Any:
        return given

    (outcome,) = await results(Call("echo", ["anything", None]), tools=[tool("echo", echo)])
    assert outcome.result.data == ["anything", None]


@pytest.mark.parametrize(("failures", "calls", "status"), [(0, 1, "success"), (3, 4, "success"), (9, 4, "error")])
async def test_a_tool_that_breaks_is_called_four_times_at_most(failures: int, calls: int, status: str) -> None:
    flaky = Flaky(failures)
    (outcome,) = await results(Call("t"), tools=[tool("t", flaky.run)])
    assert (flaky.calls, outcome.result.status) == (calls, status)
    if status == "error":
        assert outcome.result.message == "failure 4 (after 3 retries)"


async def test_an_error_that_a_tool_returns_is_final() -> None:
    calls: list[int] = []

    async def refuse(_: Any, __: ToolContext) -> ToolResultData:
        calls.append(1)
        return ToolResultData(status="error", message="sold out")

    (outcome,) = await results(Call("buy"), tools=[tool("buy", refuse)])
    assert (len(calls), outcome.result.message) == (1, "sold out")


async def test_an_abort_raised_by_a_tool_is_an_error_while_nobody_aborted() -> None:
    async def give_up(_: Any, __: ToolContext) -> None:
        raise Aborted("I felt like it")

    first, second = await results(Call("t"), Call("u"), tools=[tool("t", give_up), tool("u", returning(1))])
    assert (first.result.status, second.result.status) == ("error", "success")


async def test_a_tool_that_cancels_itself_does_not_take_the_turn_along() -> None:
    async def cancel(_: Any, __: ToolContext) -> None:
        raise asyncio.CancelledError

    (outcome,) = await results(Call("t"), tools=[tool("t", cancel)])
    assert outcome.result.status == "error"


async def test_whatever_a_tool_returns_becomes_a_result() -> None:
    class Found(BaseModel):
        on: date

    def plain(_: Any, __: ToolContext) -> dict[str, object]:
        return {"at": date(2030, 1, 2), "how": {1, 2}.__class__}

    wrapped, model = await results(
        Call("plain"), Call("model"), tools=[tool("plain", plain), tool("model", returning(Found(on=date(2030, 1, 2))))]
    )
    assert wrapped.result.data == {"at": "2030-01-02", "how": "<class 'set'>"}
    assert model.result.data == {"on": "2030-01-02"}


async def test_a_result_tells_its_duration_with_all_attempts() -> None:
    calls: list[int] = []

    async def slow(_: Any, __: ToolContext) -> str:
        calls.append(1)
        await asyncio.sleep(0.5)
        if len(calls) == 1:
            raise RuntimeError("once")
        return "ok"

    (outcome,) = await results(Call("t", id="c1"), tools=[tool("t", slow)])
    assert outcome.duration_ms == pytest.approx(1000)
    assert (outcome.id, outcome.name) == ("c1", "t")


async def test_a_summary_is_kept_beside_the_data_and_its_failure_costs_nothing() -> None:
    async def shorten(arguments: Any) -> str:
        if arguments == "bad":
            raise RuntimeError("cannot")
        return f"short {arguments}"

    calls: list[str] = []

    async def read(given: Any, _: ToolContext) -> ToolResultData:
        calls.append(given)
        return ToolResultData(data="long", generateSummaryArgs=given)

    good, bad = await results(
        Call("read", "book"), Call("read", "bad"), tools=[tool("read", read, generate_summary=shorten)]
    )
    assert (good.result.data, good.result.summary) == ("long", "short book")
    assert (bad.result.status, bad.result.summary, calls) == ("success", None, ["book", "bad"])


async def test_old_results_are_sent_short_and_stored_long() -> None:
    async def shorten(_: Any) -> str:
        return "short"

    model = ScriptedModel([Call("read"), "one", Call("read"), "two"])
    glove = Glove(model=model, summarise_tool_results=True)
    glove.fold(
        tool("read", returning(ToolResultData(data="long", generateSummaryArgs=1)), generate_summary=shorten)
    ).build()
    await glove.process_request("a")
    await glove.process_request("b")
    told = [r.result.data for m in model.requests[-1].messages for r in m.tool_results or ()]
    assert told == ["short", "long"]
    stored = [r.result.data for m in await glove.store.get_messages() for r in m.tool_results or ()]
    assert stored == ["long", "long"]


async def test_an_unstoppable_tool_finishes_and_leaves_a_record() -> None:
    abort = AbortToken()

    async def pay(_: Any, __: ToolContext) -> str:
        await asyncio.sleep(5)
        return "paid"

    model = ScriptedModel([[Call("pay"), Call("look"), Call("pay")]])
    glove = Glove(model=model).fold(tool("pay", pay, un_abortable=True)).fold(tool("look", returning(1))).build()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("pay", abort)
    assert (await story(glove.store))[-1] == "results: pay=success, look=aborted, pay=success"
    assert clock.now() == pytest.approx(10)


async def test_after_an_interruption_nothing_new_is_started() -> None:
    abort, paid = AbortToken(), Flaky(0)

    async def slow(_: Any, __: ToolContext) -> None:
        await asyncio.sleep(5)

    model = ScriptedModel([[Call("slow"), Call("pay")]])
    glove = Glove(model=model).fold(tool("slow", slow)).fold(tool("pay", paid.run, un_abortable=True)).build()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert paid.calls == 0
    assert (await story(glove.store))[-1] == "results: slow=aborted, pay=aborted"


async def test_an_unstoppable_tool_is_tried_again_although_the_turn_is_over() -> None:
    abort, flaky = AbortToken(), Flaky(2)

    async def pay(given: Any, context: ToolContext) -> str:
        abort.abort()
        return await flaky.run(given, context)

    glove = Glove(model=ScriptedModel([Call("pay")])).fold(tool("pay", pay, un_abortable=True)).build()
    with pytest.raises(Aborted):
        await glove.process_request("pay", abort)
    assert flaky.calls == 3
    assert (await story(glove.store))[-1] == "results: pay=success"


async def test_waiting_for_a_deaf_tool_ends_at_once_and_its_work_goes_on() -> None:
    abort = AbortToken()
    finished: list[float] = []

    async def deaf(_: Any, __: ToolContext) -> None:
        await asyncio.sleep(5)
        finished.append(clock.now())

    glove = Glove(model=ScriptedModel([Call("t")])).fold(tool("t", deaf)).build()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert clock.now() == pytest.approx(1)
    await asyncio.sleep(10)
    assert finished == [pytest.approx(5)]


async def test_an_aborted_tool_takes_its_question_with_it() -> None:
    abort, display = AbortToken(), DisplayManager()

    async def ask(_: Any, context: ToolContext) -> Any:
        return await context.display.push_and_wait("generic", {"q": "sure?"})

    glove = Glove(model=ScriptedModel([Call("ask")]), display=display).fold(tool("ask", ask)).build()
    display.events.on(SlotPushed, lambda _: asyncio.get_running_loop().call_later(1, abort.abort))
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    await asyncio.sleep(0)
    assert display.stack == ()


async def test_tools_see_the_display_and_the_language_of_now() -> None:
    seen: list[tuple[object, str]] = []

    async def look(_: Any, context: ToolContext) -> None:
        seen.append((context.display, context.language))

    glove = Glove(model=ScriptedModel([Call("t"), "a", Call("t"), "b"])).fold(tool("t", look)).build()
    await glove.process_request("a", language="de")
    glove.set_display(later := DisplayManager())
    await glove.process_request("b")
    assert [language for _, language in seen] == ["de", "en"]
    assert seen[1][0] is later


def test_tools_are_swapped_all_or_nothing() -> None:
    glove = Glove(model=ScriptedModel())
    for name in ("one", "two", "three", "four"):
        glove.fold(tool(name, returning(1)))
    held = glove.tools
    glove.replace_tools(["TWO", "four", "unknown"], [tool("a", returning(1)), tool("b", returning(1))])
    assert [each.name for each in glove.tools] == ["one", "a", "b", "three"]
    assert [each.name for each in held] == ["one", "two", "three", "four"]
    for wrong in ([tool("x", returning(1)), tool("X", returning(1))], [tool("ONE", returning(1))]):
        with pytest.raises(GloveError) as collision:
            glove.replace_tools(["a"], wrong)
        assert collision.value.code == "ERR_TOOL_DUPLICATE"
    assert [each.name for each in glove.tools] == ["one", "a", "b", "three"]
    with pytest.raises(GloveError):
        glove.fold(tool("One", returning(1)))
    glove.replace_tools([], [tool("end", returning(1))])
    assert glove.tools[-1].name == "end"
