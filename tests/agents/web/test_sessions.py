"""Sessions: who may be named, how many there are, and when they end."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.errors import GloveError
from agents.web.sessions import SessionRegistry, new_session_id, valid_session_id


class Thing:
    """A session that counts how often it was closed."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id
        self.closed = 0
        self.busy = False

    async def close(self) -> None:
        await asyncio.sleep(0.1)
        self.closed += 1


class Shop:
    """Opens things, slowly."""

    def __init__(self) -> None:
        self.opened: list[Thing] = []

    async def open(self, session_id: str) -> Thing:
        await asyncio.sleep(0.1)
        self.opened.append(Thing(session_id))
        return self.opened[-1]


@pytest.mark.parametrize("session_id", ["a", "glove_0b0e-1", "A-b_c", "0", "x" * 128, "user--7-"])
def test_ordinary_ids_are_taken(session_id: str) -> None:
    assert valid_session_id(session_id) == session_id


@pytest.mark.parametrize(
    "session_id",
    [
        "", ".", "..", "a/b", "a\\b", "../a", "a b", "a\n", "a\0", "ä", "a%2fb", "_a", "-a", "a_", "a__helper", "a'--",
        "x" * 129,
    ],
)  # fmt: skip
def test_hostile_ids_are_refused(session_id: str) -> None:
    with pytest.raises(GloveError) as refusal:
        valid_session_id(session_id)
    assert refusal.value.code == "ERR_SESSION_ID"


def test_made_up_ids_are_valid_and_differ() -> None:
    assert valid_session_id(new_session_id()).startswith("glove_")
    assert new_session_id() != new_session_id()


async def test_all_who_ask_at_once_share_one_session() -> None:
    shop = Shop()
    registry = SessionRegistry(shop.open)

    async def ask() -> Thing:
        async with registry.lease("a") as thing:
            return thing

    things = await asyncio.gather(*(ask() for _ in range(5)))
    assert len(shop.opened) == 1 and all(thing is things[0] for thing in things)
    await registry.close()
    await registry.close()
    assert things[0].closed == 1 and len(registry) == 0


async def test_an_idle_session_is_closed_and_opened_again_when_asked_for() -> None:
    shop = Shop()
    registry = SessionRegistry(shop.open, idle_s=60.0, busy=lambda thing: thing.busy)
    async with registry.lease("a"):
        await asyncio.sleep(600.0)
        assert shop.opened[0].closed == 0, "a session in use stays open"
    shop.opened[0].busy = True
    await asyncio.sleep(600.0)
    assert shop.opened[0].closed == 0, "a session at work stays open"
    shop.opened[0].busy = False
    await asyncio.sleep(90.0)
    assert shop.opened[0].closed == 1 and "a" not in registry
    async with registry.lease("a") as again:
        assert again is shop.opened[1]
    await registry.close()


async def test_the_one_unused_for_longest_makes_room() -> None:
    shop = Shop()
    registry = SessionRegistry(shop.open, max_sessions=2)
    for name in ("a", "b", "a", "c"):
        async with registry.lease(name):
            await asyncio.sleep(1.0)
    assert "a" in registry and "c" in registry and "b" not in registry
    async with registry.lease("a"), registry.lease("c"):
        with pytest.raises(GloveError) as refusal:
            async with registry.lease("d"):
                pass
    assert refusal.value.code == "ERR_SESSIONS_FULL" and len(registry) == 2
    await registry.close()
    assert all(thing.closed == 1 for thing in shop.opened)


async def test_one_who_comes_while_a_session_closes_gets_a_new_one() -> None:
    shop = Shop()
    registry = SessionRegistry(shop.open, max_sessions=1)
    async with registry.lease("a"):
        pass

    async def other() -> None:
        async with registry.lease("b"):
            pass

    makes_room = asyncio.create_task(other())
    await asyncio.sleep(0.05)
    async with registry.lease("a") as again:
        assert again is not shop.opened[0] and again.closed == 0
    await asyncio.gather(makes_room, return_exceptions=True)
    await registry.close()
    assert [thing.closed for thing in shop.opened] == [1] * len(shop.opened)


async def test_a_session_that_cannot_be_opened_leaves_nothing_behind() -> None:
    async def broken(_: str) -> Thing:
        raise GloveError("ERR_STORE", "The disk is full.")

    registry = SessionRegistry(broken)
    for _ in range(2):
        with pytest.raises(GloveError, match="disk is full"):
            async with registry.lease("a"):
                pass
    assert len(registry) == 0


async def test_one_who_leaves_while_a_session_closes_does_not_let_it_be_opened_twice() -> None:
    shop = Shop()
    registry = SessionRegistry(shop.open, max_sessions=1)
    async with registry.lease("a"):
        pass

    async def ask(session_id: str) -> None:
        async with registry.lease(session_id):
            assert all(thing.closed for thing in shop.opened[:-1])

    evicting = asyncio.create_task(ask("b"))
    await asyncio.sleep(0.05)
    leaving = asyncio.create_task(ask("a"))
    await asyncio.sleep(0.01)
    leaving.cancel()
    await asyncio.wait([leaving])
    assert "a" in registry
    await evicting
    await ask("a")
    assert [thing.id for thing in shop.opened] == ["a", "b", "a"]
    await registry.close()
