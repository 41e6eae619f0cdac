"""Neighbouring calls of tools that allow it run at the same time; everything else keeps its order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.core.display import DisplayManager, SlotPushed
from agents.core.events import ToolUseResult
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from tests.agents.core.scene import Ear, returning, story, tool


def pausing(name: str, seconds: float, began: list[str], **fields: Any) -> Tool[Any]:
    """A tool that takes a while and notes when it began and ended."""

    async def run(_: Any, __: ToolContext) -> str:
        began.append(f"+{name}")
        await asyncio.sleep(seconds)
        began.append(f"-{name}")
        return name

    return tool(name, run, **fields)


def agent(*tools: Tool[Any], calls: list[Call], ear: Ear, display: DisplayManager | None = None) -> Glove:
    glove = Glove(model=ScriptedModel([calls, "Done."]), display=display).add_subscriber(ear)
    for each in tools:
        glove.fold(each)
    return glove.build()


async def test_tools_wait_for_each_other_unless_they_say_otherwise() -> None:
    noted: list[str] = []
    tools = [pausing("a", 3, noted), pausing("b", 1, noted, parallel=True)]
    await agent(*tools, calls=[Call("a"), Call("b"), Call("a")], ear=Ear()).process_request("go")
    assert noted == ["+a", "-a", "+b", "-b", "+a", "-a"]
    assert clock.now() == pytest.approx(7)


async def test_neighbours_that_allow_it_run_together_and_are_stored_in_the_order_of_the_calls() -> None:
    noted: list[str] = []
    ear = Ear()
    tools = [pausing(name, seconds, noted, parallel=True) for name, seconds in (("a", 3), ("b", 1), ("c", 2))]
    glove = agent(*tools, calls=[Call("A"), Call("b"), Call("c")], ear=ear)
    await glove.process_request("go")
    assert clock.now() == pytest.approx(3)
    assert noted == ["+a", "+b", "+c", "-b", "-c", "-a"]
    assert [event.name for event in ear.of(ToolUseResult)] == ["b", "c", "A"]
    assert [event.duration_ms for event in ear.of(ToolUseResult)] == [pytest.approx(each) for each in (1e3, 2e3, 3e3)]
    assert (await story(glove.store))[2] == "results: A=success, b=success, c=success"


async def test_a_tool_that_does_not_allow_it_parts_its_neighbours() -> None:
    noted: list[str] = []
    tools = [pausing("p", 1, noted, parallel=True), pausing("s", 1, noted)]
    calls = [Call("p"), Call("p"), Call("s"), Call("unknown"), Call("p"), Call("p")]
    glove = agent(*tools, calls=calls, ear=Ear())
    await glove.process_request("go")
    assert noted == [*["+p"] * 2, *["-p"] * 2, "+s", "-s", *["+p"] * 2, *["-p"] * 2]
    assert (await story(glove.store))[2] == (
        "results: p=success, p=success, s=success, unknown=error, p=success, p=success"
    )


async def test_one_that_breaks_leaves_the_others_alone() -> None:
    noted: list[str] = []

    async def broken(_: Any, __: ToolContext) -> None:
        await asyncio.sleep(0.5)
        raise RuntimeError("broken")

    tools = [tool("broken", broken, parallel=True), pausing("p", 9, noted, parallel=True)]
    glove = agent(*tools, calls=[Call("p"), Call("broken"), Call("p")], ear=Ear())
    await glove.process_request("go")
    assert (await story(glove.store))[2] == "results: p=success, broken=error, p=success"


async def test_permission_is_asked_for_one_after_the_other_before_any_of_them_starts() -> None:
    noted: list[str] = []
    display = DisplayManager()
    open_at_once: list[int] = []

    def answer(pushed: SlotPushed) -> None:
        open_at_once.append(len(display.pending))
        allowed = pushed.slot.input["toolInput"] != "no"
        asyncio.get_running_loop().call_later(1, display.resolve, pushed.slot.id, allowed)

    display.events.on(SlotPushed, answer)
    asking = pausing("p", 1, noted, parallel=True, requires_permission=True)
    glove = agent(asking, calls=[Call("p", "a"), Call("p", "no"), Call("p", "b")], ear=Ear(), display=display)
    await glove.process_request("go")
    assert open_at_once == [1, 1, 1]
    assert clock.now() == pytest.approx(4)
    assert (await story(glove.store))[2] == "results: p=success, p=error, p=success"


async def test_an_abort_ends_the_waiting_for_all_but_what_must_run_to_its_end() -> None:
    noted: list[str] = []
    abort = AbortToken()
    tools = [
        pausing("quick", 0.5, noted, parallel=True),
        pausing("slow", 9, noted, parallel=True),
        pausing("pay", 3, noted, parallel=True, un_abortable=True),
        tool("after", returning(1)),
    ]
    glove = agent(*tools, calls=[Call("quick"), Call("slow"), Call("pay"), Call("after")], ear=Ear())
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert clock.now() == pytest.approx(3)
    assert (await story(glove.store))[-1] == "results: quick=success, slow=aborted, pay=success, after=aborted"


async def test_a_tool_that_was_started_is_not_said_to_have_done_nothing() -> None:
    noted: list[str] = []
    glove = agent(pausing("p", 9, noted, parallel=True), tool("s", returning(1)), calls=[
        Call("p"), Call("p"), Call("s"),
    ], ear=Ear())  # fmt: skip
    turn = asyncio.ensure_future(glove.process_request("go"))
    await asyncio.sleep(1)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    (results,) = [message for message in await glove.store.get_messages() if message.tool_results]
    assert _messages(results) == ["Aborted by the user."] * 2 + ["Aborted by the user before the tool was started."]


def _messages(message: Message) -> list[str | None]:
    return [result.result.message for result in message.tool_results or ()]
