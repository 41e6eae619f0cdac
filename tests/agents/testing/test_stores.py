"""Stores that fail on purpose fail exactly where they should, and are stores otherwise."""

from __future__ import annotations

import pytest

from agents.base.errors import GloveError
from agents.core.messages import Message
from agents.core.store import StoreAdapter
from agents.stores.memory import MemoryStore
from agents.testing import FaultyStore, InterruptingStore, check_store


async def test_they_do_what_every_store_must_while_nothing_is_to_go_wrong() -> None:
    async def faulty() -> StoreAdapter:
        return FaultyStore(MemoryStore())

    async def interrupting() -> StoreAdapter:
        return InterruptingStore(MemoryStore(), 0, lambda: None)

    plain = await check_store(make_plain)
    assert await check_store(faulty) == await check_store(interrupting) == plain


async def test_a_store_that_lends_its_own_list_is_told_so() -> None:
    class Lending(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.kept: list[Message] = []

        async def append_messages(self, messages: list[Message]) -> None:
            self.kept += messages

        async def get_messages(self) -> list[Message]:
            return self.kept

        get_visible_messages = get_messages

    async def lending() -> StoreAdapter:
        return Lending()

    with pytest.raises(AssertionError, match="lists of messages are handed out as copies"):
        await check_store(lending)


async def make_plain() -> StoreAdapter:
    return MemoryStore()


async def test_the_chosen_operation_fails_and_changes_nothing() -> None:
    store = FaultyStore(MemoryStore(), at={2})
    await store.append_messages([Message(sender="user", text="one")])
    with pytest.raises(GloveError) as full:
        await store.append_messages([Message(sender="user", text="two")])
    await store.append_messages([Message(sender="user", text="three")])
    assert full.value.code == "ERR_STORE_FULL"
    assert [message.text for message in await store.get_messages()] == ["one", "three"]
    assert store.operations == ["append_messages"] * 3 + ["get_messages"]


@pytest.mark.parametrize(("after", "stored"), [(False, 0), (True, 1)])
async def test_something_happens_right_before_or_after_an_operation(after: bool, stored: int) -> None:
    inner = MemoryStore()
    seen: list[int] = []
    store = InterruptingStore(inner, 1, lambda: seen.append(len(inner._messages)), after=after)
    await store.append_messages([Message(sender="user", text="one")])
    assert seen == [stored]
