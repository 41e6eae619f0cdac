"""A process that dies in mid-turn leaves a marked history behind, and nothing is done twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from agents.core.glove import Glove
from agents.core.messages import Message, ToolCall
from agents.models.scripted import Call, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from tests.agents.core.scene import returning, sent, story, tool

ROOT = Path(__file__).resolve().parents[3]

SPEAKER = """
import asyncio, sys
from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from agents.stores.sqlite import SqliteStore

async def main():
    model = ScriptedModel(["It is a long story.", "It began at sea."])
    glove = Glove(model=model, store=SqliteStore(sys.argv[1], "s")).build()
    reply = await glove.process_request("tell me a story", heard_reports=True)
    await glove.report_heard(reply.id, reply.text, complete=True)
    await glove.process_request("go on", heard_reports=True)
    print("speaking", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


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


class PlainStore(MemoryStore):
    """A store that cannot amend what it holds."""

    supports = MemoryStore.supports - {"amend"}


@pytest.mark.realtime
async def test_killed_while_it_speaks_nothing_claims_that_it_was_heard(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SPEAKER, str(tmp_path / "talk.db"),
        stdout=asyncio.subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"speaking\n"
    process.send_signal(signal.SIGKILL)
    await process.wait()

    store = SqliteStore(tmp_path / "talk.db", "s")
    model = ScriptedModel(["Yes?"])
    assert await Glove(model=ScriptedModel(), store=store).build().recover() is None
    told = [
        "user: tell me a story",
        "agent: It is a long story. (complete)",
        "user: go on",
        "agent: It began at sea. (unconfirmed)",
    ]
    assert (await story(store))[:4] == told
    await Glove(model=model, store=store).build().process_request("and then?")
    lines = sent(model.requests[0].messages)
    assert lines[:4] == told
    assert "not known how much of it the user heard" in lines[4]
    assert lines[5:] == ["user: and then?"]
    await store.close()


@pytest.mark.parametrize("make", [MemoryStore, PlainStore])
async def test_every_part_of_a_spoken_turn_is_marked_once(make: type[MemoryStore]) -> None:
    store = make()
    model = ScriptedModel([[Say("Let me see."), Call("look")], "It is there."])
    glove = Glove(model=model, store=store).fold(tool("look", returning("fine"))).build()
    await glove.process_request("where is it?", heard_reports=True)
    for _ in range(2):
        await Glove(model=ScriptedModel(), store=store).build().recover()
    lines = await story(store)
    mark = " (unconfirmed)" if make is MemoryStore else ""
    assert lines[1:4] == [f"agent: Let me see. +look{mark}", "results: look=success", f"agent: It is there.{mark}"]
    assert len(lines) == 5


async def test_what_was_written_needs_nobody_to_hear_it() -> None:
    store = MemoryStore()
    await Glove(model=ScriptedModel(["Hi."]), store=store).build().process_request("hello")
    await Glove(model=ScriptedModel(), store=store).build().recover()
    assert await story(store) == ["user: hello", "agent: Hi."]
