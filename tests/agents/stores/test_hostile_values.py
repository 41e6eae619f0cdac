"""Whatever a model or a tool brings, the conversation can be read again, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import GloveError
from agents.core.glove import Glove
from agents.core.messages import Message, ToolCall
from agents.core.store import StoreAdapter
from agents.models.arguments import parse_arguments
from agents.models.scripted import Call, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from tests.agents.core.scene import returning, story, tool

STORES: dict[str, Callable[[], StoreAdapter]] = {"memory": MemoryStore, "sqlite": lambda: SqliteStore(":memory:")}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> StoreAdapter:
    return STORES[request.param]()


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [90, 100, 150, 190, 200, 254, 300])
async def test_deeply_nested_arguments_leave_a_history_that_can_be_read(store: StoreAdapter, depth: int) -> None:
    model = ScriptedModel([[Call("look", {"at": nested(depth)})], "Done.", "Here."])
    glove = Glove(model=model, store=store).fold(tool("look", returning("ok"))).build()
    assert (await glove.process_request("look")).text == "Done."
    assert (await glove.process_request("hello?")).text == "Here."
    assert len(await story(store)) == 6
    if depth <= 100:
        (call,) = (await store.get_messages())[1].tool_calls or ()
        assert call.input_args == {"at": nested(depth)}
    await store.close()


@pytest.mark.parametrize("depth", [90, 150, 199, 250, 5000])
async def test_deeply_nested_results_leave_a_history_that_can_be_read(store: StoreAdapter, depth: int) -> None:
    glove = Glove(model=ScriptedModel([[Call("look")], "Done.", "Here."]), store=store)
    glove.fold(tool("look", returning(nested(depth)))).build()
    assert (await glove.process_request("look")).text == "Done."
    assert (await glove.process_request("hello?")).text == "Here."
    assert (await story(store))[2] == f"results: look={'success' if depth <= 100 else 'error'}"
    await store.close()


async def test_what_cannot_be_written_at_all_is_refused_and_nothing_is_stored(store: StoreAdapter) -> None:
    fine, deep = Message(sender="user", text="fine"), [ToolCall(tool_name="t", input_args=nested(20_000))]
    with pytest.raises(GloveError) as refused:
        await store.append_messages([fine, Message(sender="agent", tool_calls=deep)])
    assert refused.value.code == "ERR_STORE_VALUE"
    assert await store.get_messages() == []
    await store.append_messages([fine])
    assert len(await store.get_messages()) == 1
    await store.close()


def test_an_adapter_keeps_arguments_that_are_nested_too_deep_as_text() -> None:
    raw = "[" * 150 + "]" * 150
    assert parse_arguments(raw) == raw
    assert parse_arguments("[" * 50 + "1" + "]" * 50) == nested(50)


async def test_permission_for_half_a_character_is_remembered_and_no_other_is(store: StoreAdapter) -> None:
    await store.set_permission("open", "granted", {"door": "\ud83d"})
    assert await store.get_permission("open", {"door": "\ud83d"}) == "granted"
    for other in ({"door": "?"}, {"door": "\ud83e"}, {"door": "\\ud83d"}, None):
        assert await store.get_permission("open", other) == "unset"
    await store.close()


async def test_a_name_of_half_a_character_is_refused_in_words() -> None:
    store = SqliteStore(":memory:")
    with pytest.raises(GloveError) as refused:
        await store.amend_message("\ud83d", text="x", heard="complete")
    assert refused.value.code == "ERR_STORE_VALUE"
    assert await store.get_messages() == []
    await store.close()
