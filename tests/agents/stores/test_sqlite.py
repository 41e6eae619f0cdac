"""A conversation on disk is there again tomorrow, whatever happened to the process or the disk meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from agents.base.errors import GloveError
from agents.core.messages import InboxItem, Message
from agents.core.store_conformance import CHECKS, check_store
from agents.stores.sqlite import SqliteStore, list_conversations, resolve_inbox_item

ROOT = Path(__file__).resolve().parents[3]

WRITER = """
import asyncio, sys
from agents.core.messages import Message
from agents.stores.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1], "talk")
    for batch in range(100_000):
        await store.append_messages([Message(sender="user", text=f"{batch}.{part} " + "x" * 2000) for part in range(3)])
        print(batch, flush=True)

asyncio.run(main())
"""


def said(*texts: str) -> list[Message]:
    return [Message(sender="user", text=text) for text in texts]


async def texts_of(store: SqliteStore) -> list[str]:
    return [message.text for message in await store.get_messages()]


async def test_does_what_every_store_must(tmp_path: Path) -> None:
    count = 0

    async def make() -> SqliteStore:
        nonlocal count
        count += 1
        return SqliteStore(tmp_path / "talk.db", f"session {count}")

    assert len(await check_store(make)) == len(CHECKS)


async def test_a_conversation_is_there_again_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "talk.db"
    first = SqliteStore(path, "kitchen")
    await first.append_messages([*said("hello"), Message(sender="agent", text="hi there", id="r1")])
    await first.amend_message("r1", text="hi", heard="interrupted")
    await first.close()

    second = SqliteStore(path, "kitchen")
    assert await texts_of(second) == ["hello", "hi"]
    assert (await second.get_messages())[1].heard == "interrupted"
    await second.close()


async def test_sessions_share_a_file_without_seeing_each_other(tmp_path: Path) -> None:
    kitchen, garage = SqliteStore(tmp_path / "talk.db", "kitchen"), SqliteStore(tmp_path / "talk.db", "garage")
    await kitchen.append_messages(said("eggs"))
    await garage.append_messages(said("oil"))
    await garage.set_name("Car talk")
    assert (await texts_of(kitchen), await texts_of(garage)) == (["eggs"], ["oil"])
    names = {talk.session_id: talk.name for talk in await list_conversations(tmp_path / "talk.db")}
    assert names == {"kitchen": None, "garage": "Car talk"}
    await kitchen.close()
    await garage.close()


async def test_many_conversations_of_one_program_share_a_connection(tmp_path: Path) -> None:
    count = 0
    first = SqliteStore(tmp_path / "talk.db", "first")

    async def make() -> SqliteStore:
        nonlocal count
        count += 1
        return first.beside(f"session {count}")

    assert len(await check_store(make)) == len(CHECKS)
    await first.append_messages(said("still open"))
    assert await texts_of(first) == ["still open"]
    assert {talk.parent for talk in await list_conversations(tmp_path / "talk.db")} <= {None, f"session {count}"} | {
        f"session {count}__helper"
    }
    await first.close()
    with pytest.raises(GloveError) as closed:
        await (await make()).get_messages()
    assert closed.value.code == "ERR_STORE_CLOSED"


async def test_an_item_is_answered_from_another_process(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "kitchen")
    await store.add_inbox_item(InboxItem(id="i1", tag="order", request="pizza or pasta?"))
    assert await resolve_inbox_item(tmp_path / "talk.db", "i1", "pasta")
    assert not await resolve_inbox_item(tmp_path / "talk.db", "i1", "too late")
    assert not await resolve_inbox_item(tmp_path / "talk.db", "unknown", "pasta")
    assert not await resolve_inbox_item(tmp_path / "other.db", "i1", "pasta")
    assert not (tmp_path / "other.db").exists()
    assert [item.response for item in await store.get_resolved_inbox_items()] == ["pasta"]
    await store.close()


async def test_a_full_disk_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "kitchen", max_bytes=200_000)
    await store.append_messages(said("before"))
    with pytest.raises(GloveError) as full:
        await store.append_messages(said("part one", "x" * 400_000))
    assert full.value.code == "ERR_STORE_FULL"
    assert full.value.remedy
    assert await texts_of(store) == ["before"]
    await store.append_messages(said("small things still fit"))
    assert await texts_of(store) == ["before", "small things still fit"]
    await store.close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    path.write_bytes(b"these are not the bytes you are looking for" * 100)
    before = path.read_bytes()
    store = SqliteStore(path, "kitchen")
    for attempt in (store.get_messages(), store.append_messages(said("hello"))):
        with pytest.raises(GloveError) as broken:
            await attempt
        assert broken.value.code == "ERR_STORE_CORRUPT"
    await store.close()
    assert path.read_bytes() == before


async def test_an_unreadable_entry_is_named_not_dropped(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "kitchen")
    await store.append_messages(said("hello"))
    with sqlite3.connect(tmp_path / "talk.db") as connection:
        connection.execute("UPDATE messages SET body = '{'")
    connection.close()
    with pytest.raises(GloveError) as broken:
        await store.get_messages()
    assert broken.value.code == "ERR_STORE_CORRUPT"
    await store.close()


async def test_a_file_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = SqliteStore(path, "kitchen")
    with pytest.raises(GloveError) as newer:
        await store.get_messages()
    assert newer.value.code == "ERR_STORE_VERSION"
    await store.close()


async def test_half_a_character_does_not_cost_the_message(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "kitchen")
    await store.append_messages(said("fine \ud83d broken"))
    assert await texts_of(store) == ["fine ? broken"]
    await store.close()


async def test_a_place_that_cannot_hold_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    store = SqliteStore(tmp_path / "blocked" / "talk.db", "kitchen")
    with pytest.raises(GloveError) as blocked:
        await store.get_messages()
    assert blocked.value.code == "ERR_STORE_UNWRITABLE"
    await store.close()


async def test_a_closed_store_refuses_work(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "kitchen")
    await store.close()
    await store.close()
    with pytest.raises(GloveError) as closed:
        await store.get_messages()
    assert closed.value.code == "ERR_STORE_CLOSED"


@pytest.mark.realtime
async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    for round_number in range(3):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(path),
            stdout=asyncio.subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout is not None
        acknowledged = -1
        while acknowledged < 10 + 7 * round_number:
            acknowledged = int(await process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = (await process.stdout.read()).split(b"\n")[:-1]
        acknowledged = int(rest[-1]) if rest else acknowledged
        await process.wait()

        store = SqliteStore(path, "talk")
        heads = [text.split(" ")[0] for text in await texts_of(store)]
        await store.close()
        batches = heads[len(heads) - 1 - heads[::-1].index("0.0") :]
        assert len(batches) % 3 == 0
        assert len(batches) >= 3 * (acknowledged + 1)
        assert batches == [f"{batch}.{part}" for batch in range(len(batches) // 3) for part in range(3)]
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
