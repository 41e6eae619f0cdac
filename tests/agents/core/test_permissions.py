"""Some tools ask first; the answer is remembered, silence is a no, and nobody hangs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.core.display import DisplayManager, SlotPushed
from agents.core.events import ToolUseResult
from agents.core.glove import Glove
from agents.core.store import StoreAdapter
from agents.models.scripted import Call, ScriptedModel
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, Where, returning, tool


class Room:
    """Answers questions for permission as it is told to, and counts them."""

    def __init__(self, answer: object) -> None:
        self.display = DisplayManager()
        self.questions: list[Any] = []
        self._answer = answer
        self.display.events.on(SlotPushed, self._asked)

    def _asked(self, event: SlotPushed) -> None:
        self.questions.append(event.slot.input)
        if self._answer == "reject":
            self.display.reject(event.slot.id)
        elif self._answer == "clear":
            self.display.clear_stack()
        elif self._answer != "silence":
            self.display.resolve(event.slot.id, self._answer)


class NoPermissions(MemoryStore):
    """A store without the permission methods."""

    supports = MemoryStore.supports - {"permissions"}


async def outcomes(room: Room, *inputs: Any, gate: Any = True, store: StoreAdapter | None = None) -> list[str]:
    ear = Ear()
    model = ScriptedModel([[Call("act", given) for given in inputs], "done"])
    glove = Glove(model=model, display=room.display, store=store or MemoryStore()).add_subscriber(ear)
    await glove.fold(tool("act", returning(1), requires_permission=gate)).build().process_request("go")
    return [event.result.status for event in ear.of(ToolUseResult)]


async def test_a_yes_is_remembered_for_the_same_input_only() -> None:
    room, store = Room(True), MemoryStore()
    assert await outcomes(room, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}, store=store) == ["success"] * 3
    assert room.questions == [
        {"renderer": "permission_request", "toolName": "act", "toolInput": given}
        for given in ({"a": 1, "b": 2}, {"a": 2})
    ]
    assert await store.get_permission("act", {"a": 2}) == "granted"


async def test_a_no_is_remembered_too() -> None:
    room, store = Room(False), MemoryStore()
    assert await outcomes(room, {"a": 1}, {"a": 1}, store=store) == ["error", "error"]
    assert len(room.questions) == 1
    assert await store.get_permission("act", {"a": 1}) == "denied"


@pytest.mark.parametrize("answer", ["reject", "clear", "silence"])
async def test_no_answer_denies_this_call_and_no_other(answer: str) -> None:
    room, store = Room(answer), MemoryStore()
    assert await outcomes(room, {"a": 1}, store=store) == ["error"]
    assert await store.get_permission("act", {"a": 1}) == "unset"
    assert room.display.stack == ()
    assert clock.now() == (30 if answer == "silence" else 0)


async def test_without_a_gate_or_a_memory_for_answers_nobody_is_asked() -> None:
    room = Room("silence")
    assert await outcomes(room, {}, gate=False) == ["success"]
    assert await outcomes(room, {}, store=NoPermissions()) == ["success"]
    assert room.questions == []


async def test_the_gate_sees_what_the_model_sent_before_it_is_checked() -> None:
    seen: list[Any] = []

    def gate(raw: Any) -> bool:
        seen.append(raw)
        return raw == {"wrong": "shape"}

    room, ear = Room(True), Ear()
    model = ScriptedModel([[Call("act", {"wrong": "shape"}), Call("act", {"place": "x"})], "done"])
    glove = Glove(model=model, display=room.display).add_subscriber(ear)
    await glove.fold(tool("act", returning(1), args=Where, requires_permission=gate)).build().process_request("go")
    assert seen == [{"wrong": "shape"}, {"place": "x"}]
    assert len(room.questions) == 1
    assert [event.result.message for event in ear.of(ToolUseResult)] == ["TOOL_INPUT_INVALID", None]


async def test_a_gate_that_breaks_denies() -> None:
    def gate(_: Any) -> bool:
        raise RuntimeError("broken gate")

    assert await outcomes(Room(True), {}, gate=gate) == ["error"]


async def test_an_abort_withdraws_the_question() -> None:
    room, abort = Room("silence"), AbortToken()
    glove = Glove(model=ScriptedModel([Call("act")]), display=room.display)
    glove.fold(tool("act", returning(1), requires_permission=True)).build()
    asyncio.get_running_loop().call_later(2, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert (clock.now(), room.display.stack) == (2, ())
