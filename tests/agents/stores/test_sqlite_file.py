"""A store's file under bad conditions: other writers, old and new versions, damage, a disk that is really full."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.messages import InboxItem, Message, TokenUsage
from agents.stores import sqlite_file
from agents.stores.sqlite import SqliteStore
from agents.stores.sqlite_file import Schema, SqliteFile

ROOT = Path(__file__).resolve().parents[3]

FIRST_VERSION = """
CREATE TABLE conversations (
    session_id TEXT PRIMARY KEY, parent TEXT, name TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,
    cache_creation_input_tokens INTEGER NOT NULL DEFAULT 0, cache_read_input_tokens INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_id TEXT, sender TEXT NOT NULL,
    is_compaction INTEGER NOT NULL, framework_context TEXT, heard TEXT, created_at TEXT, body TEXT NOT NULL
);
CREATE INDEX messages_by_session ON messages (session_id, position);
CREATE INDEX summaries ON messages (session_id, position) WHERE is_compaction;
CREATE INDEX messages_by_id ON messages (session_id, message_id) WHERE message_id IS NOT NULL;
CREATE TABLE tasks (
    session_id TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE TABLE permissions (
    session_id TEXT NOT NULL, tool TEXT NOT NULL, input_key TEXT NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (session_id, tool, input_key)
);
CREATE TABLE inbox (
    session_id TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session_id, id)
);
CREATE INDEX inbox_by_status ON inbox (session_id, status);
INSERT INTO conversations VALUES ('talk', NULL, 'Kitchen', '2026-01-01', '2026-01-02', 7, 5, 0, 3, 2);
INSERT INTO messages (session_id, sender, is_compaction, body)
    VALUES ('talk', 'user', 0, '{"sender":"user","text":"before"}');
INSERT INTO messages (session_id, sender, is_compaction, body)
    VALUES ('talk', 'user', 1, '{"sender":"user","text":"summary","is_compaction":true}');
INSERT INTO messages (session_id, message_id, sender, is_compaction, body)
    VALUES ('talk', 'r1', 'agent', 0, '{"sender":"agent","text":"hello","id":"r1","of_the_future":1}');
INSERT INTO tasks VALUES ('talk', 'task_1', 0, '{"id":"task_1","content":"tidy up","status":"pending"}');
INSERT INTO permissions VALUES ('talk', 'open', '{"a":1,"b":2}', 'granted');
INSERT INTO inbox VALUES ('talk', 'i1', 'resolved',
    '{"id":"i1","tag":"t","request":"?","response":"yes","status":"resolved"}');
PRAGMA user_version = 1;
"""
"""A file as version 1 wrote it; never changed again."""

APPENDER = """
import asyncio, sys
from agents.core.messages import Message
from agents.stores.sqlite import SqliteStore

async def main(path, name, count):
    store = SqliteStore(path, "talk")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        await store.append_messages([Message(sender="user", text=f"{name} {number} {part}") for part in range(2)])
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


def said(*texts: str) -> list[Message]:
    return [Message(sender="user", text=text) for text in texts]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> int:
    """Waiting for another writer ends after 300 ms."""
    monkeypatch.setattr(sqlite_file, "BUSY_LIMIT_MS", 300)
    return 300


async def test_a_file_of_the_first_version_opens_with_all_it_holds(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.db") as old:
        old.executescript(FIRST_VERSION)
    old.close()
    store = SqliteStore(tmp_path / "old.db", "talk")
    assert [message.text for message in await store.get_messages()] == ["before", "summary", "hello"]
    assert [message.text for message in await store.get_visible_messages()] == ["summary", "hello"]
    assert (await store.get_messages())[2].model_extra == {"of_the_future": 1}
    usage = await store.get_token_consumption()
    assert (usage.tokens_in, usage.tokens_out, usage.cache_read_input_tokens) == (7, 5, 3)
    assert [task.content for task in await store.get_tasks()] == ["tidy up"]
    assert await store.get_permission("open", {"b": 2, "a": 1}) == "granted"
    assert [item.response for item in await store.get_resolved_inbox_items()] == ["yes"]
    assert await store.amend_message("r1", text="hell", heard="interrupted")
    await store.append_messages(said("and on"))
    await store.add_inbox_item(InboxItem(id="i2", tag="t", request="??"))
    await store.count_model_call(TokenUsage(tokens_in=1))
    await store.close()


VERSIONS = (
    Schema("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);"),
    Schema(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, colour TEXT);",
        ("ALTER TABLE notes ADD COLUMN colour TEXT;\nUPDATE notes SET colour = 'grey; or so';",),
    ),
    Schema(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, colour TEXT, size INTEGER NOT NULL DEFAULT 1);",
        (
            "ALTER TABLE notes ADD COLUMN colour TEXT;\nUPDATE notes SET colour = 'grey; or so';",
            "ALTER TABLE notes ADD COLUMN size INTEGER NOT NULL DEFAULT 1;",
        ),
    ),
)


@pytest.mark.parametrize("begun", [0, 1, 2])
async def test_every_earlier_version_is_brought_up_to_date_step_by_step(tmp_path: Path, begun: int) -> None:
    for schema in VERSIONS[begun:]:
        file = SqliteFile(tmp_path / "notes.db", schema)
        await file.write(lambda connection: connection.execute("INSERT INTO notes (text) VALUES ('n')"))
        await file.close()
    newest = SqliteFile(tmp_path / "notes.db", VERSIONS[-1])
    rows = await newest.read(lambda connection: connection.execute("SELECT colour, size FROM notes").fetchall())
    expected = [[("grey; or so", 1), (None, 1), (None, 1)], [(None, 1), (None, 1)], [(None, 1)]][begun]
    assert rows == expected
    await newest.close()
    older = SqliteFile(tmp_path / "notes.db", VERSIONS[0])
    with pytest.raises(GloveError) as newer:
        await older.read(lambda connection: connection.execute("SELECT 1"))
    assert newer.value.code == "ERR_STORE_VERSION"
    await older.close()


async def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    first = SqliteFile(path, VERSIONS[0])
    await first.write(lambda connection: connection.execute("INSERT INTO notes (text) VALUES ('n')"))
    await first.close()
    broken = SqliteFile(path, Schema("", ("ALTER TABLE notes ADD COLUMN colour TEXT;\nUPDATE nothing SET a = 1;",)))
    with pytest.raises(GloveError):
        await broken.read(lambda connection: connection.execute("SELECT 1"))
    await broken.close()
    again = SqliteFile(path, VERSIONS[1])
    rows = await again.read(lambda connection: connection.execute("SELECT text, colour FROM notes").fetchall())
    assert rows == [("n", "grey; or so")]
    await again.close()


async def test_another_writer_is_waited_for_but_not_for_ever(tmp_path: Path, impatient: int) -> None:
    store = SqliteStore(tmp_path / "talk.db", "talk")
    await store.append_messages(said("before"))
    other = sqlite3.connect(tmp_path / "talk.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = clock.perf_counter()
    with pytest.raises(GloveError) as busy:
        await store.append_messages(said("lost"))
    assert (busy.value.code, bool(busy.value.remedy)) == ("ERR_STORE_BUSY", True)
    assert impatient * 0.8 <= (clock.perf_counter() - began) * 1000 < impatient * 10
    assert [message.text for message in await store.get_messages()] == ["before"], "reading goes on meanwhile"
    other.execute("ROLLBACK")
    other.close()
    await store.append_messages(said("after"))
    assert [message.text for message in await store.get_messages()] == ["before", "after"]
    await store.close()


async def test_a_file_locked_by_an_old_fashioned_program_is_named(tmp_path: Path, impatient: int) -> None:
    other = sqlite3.connect(tmp_path / "talk.db", isolation_level=None)
    other.execute("CREATE TABLE mine (a)")
    other.execute("BEGIN EXCLUSIVE")
    store = SqliteStore(tmp_path / "talk.db", "talk")
    with pytest.raises(GloveError) as busy:
        await store.get_messages()
    assert busy.value.code == "ERR_STORE_BUSY"
    other.execute("ROLLBACK")
    other.close()
    await store.append_messages(said("now"))
    await store.close()


def damaged(path: Path) -> Iterator[bytes]:
    """The bytes of a database with one page after the other overwritten."""
    whole = path.read_bytes()
    for page in range(1, len(whole) // 4096):
        yield whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :]


async def test_a_damaged_file_says_so_and_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    store = SqliteStore(path, "talk")
    for number in range(40):
        await store.append_messages(said(f"{number} " + "x" * 1500))
    await store.close()
    said_so = 0
    for number, content in enumerate(damaged(path)):
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(content)
        broken = SqliteStore(copy, "talk")
        try:
            await broken.get_messages()
            await broken.get_token_count()
        except GloveError as fault:
            assert fault.code == "ERR_STORE_CORRUPT", fault
            assert "Move the file away" in (fault.remedy or "") or "backup" in (fault.remedy or "")
            said_so += 1
        finally:
            await broken.close()
        assert copy.read_bytes() == content
    assert said_so > 10


@pytest.mark.realtime
async def test_two_processes_write_one_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", APPENDER, str(path), name, "150",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for name in ("a", "b", "c")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        await writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
    ended = [(await writer.communicate())[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], ended
    store = SqliteStore(path, "talk")
    heads = [message.text for message in await store.get_messages()]
    await store.close()
    assert len(heads) == 900
    pairs = list(zip(heads[::2], heads[1::2], strict=True))
    assert all(one[:-1] == two[:-1] for one, two in pairs), "the two messages of a call stand together"
    for name in "abc":
        mine = [int(one.split()[1]) for one, _ in pairs if one.startswith(name)]
        assert mine == list(range(150)), "each process's own order is kept"


async def test_whoever_is_making_the_file_at_this_moment_is_waited_for(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "talk.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    finish = threading.Timer(0.2, other.execute, ("COMMIT",))
    finish.start()
    store = SqliteStore(tmp_path / "talk.db", "talk")
    await store.append_messages(said("hello"))
    finish.join()
    other.close()
    assert [message.text for message in await store.get_messages()] == ["hello"]
    await store.close()


@pytest.mark.realtime
async def test_a_disk_that_is_really_full_costs_only_the_last_write(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from agents.base.errors import GloveError
from agents.core.messages import Message
from agents.stores.sqlite import SqliteStore

async def main():
    store, kept = SqliteStore({str(tmp_path / "disk" / "talk.db")!r}, "talk"), 0
    try:
        while True:
            await store.append_messages([Message(sender="user", text=f"{{kept}} " + "x" * 9000)])
            kept += 1
    except GloveError as fault:
        print(fault.code)
    texts = [message.text.split()[0] for message in await store.get_messages()]
    print(kept > 20 and texts == [str(number) for number in range(kept)])
    await store.close()

asyncio.run(main())
"""
    (tmp_path / "disk").mkdir()
    mounted = f'mount -t tmpfs -o size=1m tmpfs {tmp_path / "disk"} && exec {sys.executable} -c "$0"'
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command to mount a small disk with")
    process = await asyncio.create_subprocess_exec(
        unshare, "--user", "--map-root-user", "--mount", "sh", "-c", mounted, script,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    if b"unshare" in err or b"mount" in err:
        pytest.skip("this machine lets nobody mount a small disk")
    assert out.split() == [b"ERR_STORE_FULL", b"True"], err.decode()


def fill(path: Path, count: int, summary_at: int, session: str = "talk") -> None:
    """Add ``count`` messages to a conversation of an existing file, one of them a summary."""
    body = '{"sender":"user","text":"words words words words"}'
    rows = ((session, "user", int(number == summary_at), body) for number in range(count))
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO messages (session_id, sender, is_compaction, body) VALUES (?,?,?,?)", rows)
    connection.close()


@pytest.mark.realtime
async def test_a_session_of_a_hundred_thousand_messages_opens_at_once(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    first = SqliteStore(path, "talk")
    await first.append_messages(said("first"))
    await first.close()
    fill(path, 100_000, summary_at=99_900)
    times_s: list[float] = []
    for _ in range(5):
        began = clock.perf_counter()
        store = SqliteStore(path, "talk")
        visible = await store.get_visible_messages()
        times_s.append(clock.perf_counter() - began)
        await store.close()
        assert len(visible) == 100
    assert min(times_s) < 0.05


async def test_what_a_turn_does_costs_the_same_however_long_the_history_is(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "talk")
    await store.append_messages(said("first"))
    costs: list[int] = []
    for _ in range(3):
        fill(tmp_path / "talk.db", 10_000, summary_at=9_990)
        fill(tmp_path / "talk.db", 10_000, summary_at=-1, session="other")
        count = itertools.count()

        def tick(ticks: Iterator[int] = count) -> int:
            next(ticks)
            return 0

        await store._file.read(lambda connection, tick=tick: connection.set_progress_handler(tick, 10))
        await store.append_messages([*said("more"), Message(sender="agent", text="and more", id="r1")])
        await store.amend_message("r1", text="and", heard="interrupted")
        await store.count_model_call(TokenUsage(tokens_in=1))
        assert len(await store.get_visible_messages()) == 12
        await store.get_pending_inbox_items()
        costs.append(next(count))
    assert max(costs) <= min(costs) + 5 < 100, f"tens of instructions of the database: {costs}"
    await store.close()


async def test_ten_thousand_messages_come_back_whole_and_in_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "talk.db", "talk")
    for start in range(0, 10_000, 500):
        await store.append_messages(said(*(f"{number}" for number in range(start, start + 500))))
    assert [message.text for message in await store.get_messages()] == [f"{number}" for number in range(10_000)]
    await store.close()
