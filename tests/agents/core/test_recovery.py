"""A process that dies in mid-turn leaves a marked history behind, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

from agents.core.glove import Glove
from agents.core.messages import Message, ToolCall
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from tests.agents.core.scene import sent, story, tool


async def test_a_question_that_was_never_answered_is_marked_and_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []

    async def buy(_: object, __: object) -> None:
        ran.append(1)

    died = SqliteStore(tmp_path / "talk.db", "s")
    await died.append_messages(
        [
            Message(sender="user", text="buy milk", id="turn_1"),
            Message(sender="agent", tool_calls=[ToolCall(tool_name="buy", input_args={}, id="c1")], id="r1"),
        ]
    )
    await died.close()

    store = SqliteStore(tmp_path / "talk.db", "s")
    model = ScriptedModel(["Did you get it?"])
    glove = Glove(model=model, store=store).fold(tool("buy", buy)).build()
    left = await glove.recover()
    assert left is not None
    assert left.text == "buy milk"
    assert (ran, model.requests) == ([], [])
    marked = (await store.get_messages())[-1]
    assert (marked.framework_context, getattr(marked, "unanswered", None)) == ("notice", "turn_1")

    await glove.process_request("hello?")
    lines = sent(model.requests[0].messages)
    assert lines[:3] == ["user: buy milk", "agent:  +buy", "results: buy=error"]
    assert "was not answered" in lines[3]
    assert lines[4] == "user: hello?"
    assert ran == []
    await store.close()


async def test_it_happens_before_the_first_turn_and_only_once() -> None:
    store = MemoryStore()
    await store.append_messages([Message(sender="user", text="anyone?")])
    for _ in range(2):
        await Glove(model=ScriptedModel(["Yes."]), store=store).build().process_request("hello?")
    assert [line for line in await story(store) if "not answered" in line] == [(await story(store))[1]]
    assert len(await story(store)) == 6


async def test_a_process_that_dies_again_marks_nothing_twice() -> None:
    store = MemoryStore()
    await store.append_messages([Message(sender="user", text="anyone?")])
    for _ in range(3):
        await Glove(model=ScriptedModel(), store=store).build().recover()
    assert len(await story(store)) == 2


async def test_a_finished_conversation_is_left_alone() -> None:
    store = MemoryStore()
    glove = Glove(model=ScriptedModel(["Hi."]), store=store).build()
    assert await glove.recover() is None
    await glove.process_request("hello")
    assert await Glove(model=ScriptedModel(), store=store).build().recover() is None
    assert await story(store) == ["user: hello", "agent: Hi."]
