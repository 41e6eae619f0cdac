"""What the everyday tools keep: lists, notes and timers, in one SQLite file or in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from agents.base.clock import infer, wall
from agents.base.errors import GloveError

T = TypeVar("T")

_QUERY_COST_S = 0.001
_SCHEMA = """
CREATE TABLE IF NOT EXISTS list_items (id INTEGER PRIMARY KEY, list TEXT NOT NULL, item TEXT NOT NULL, created TEXT);
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, created TEXT);
CREATE TABLE IF NOT EXISTS timers (
    id TEXT PRIMARY KEY, name TEXT, kind TEXT NOT NULL, due TEXT NOT NULL, seconds REAL NOT NULL
);
"""


@dataclass(frozen=True)
class Note:
    """Something the user asked to remember."""

    id: int
    text: str
    created: datetime


@dataclass(frozen=True)
class TimerRow:
    """A timer as it is stored. ``due`` is aware UTC; ``kind`` is ``timer`` or ``alarm``; ``seconds`` its length."""

    id: str
    name: str | None
    kind: str
    due: datetime
    seconds: float


class EverydayBook:
    """The store of the everyday tools. Works off the loop, one query at a time; opens on first use.

    Every method raises ``GloveError`` (``ERR_BOOK``) when the file cannot be read or written.

    Args:
        path: the SQLite file (its folder is created), or None to keep everything in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="everyday-book")

    async def add_item(self, name: str, item: str) -> bool:
        """Add ``item`` to the list ``name``. False if it is on it already (capitals do not matter)."""

        def work(db: sqlite3.Connection) -> bool:
            rows = db.execute("SELECT item FROM list_items WHERE list = ?", (_key(name),))
            if any(_key(row[0]) == _key(item) for row in rows):
                return False
            db.execute("INSERT INTO list_items (list, item, created) VALUES (?, ?, ?)", (_key(name), item, _stamp()))
            return True

        return await self._run(work)

    async def items(self, name: str) -> list[str]:
        """What is on the list ``name``, oldest first; empty if there is no such list."""
        sql = "SELECT item FROM list_items WHERE list = ? ORDER BY id"
        return await self._run(lambda db: [str(row[0]) for row in db.execute(sql, (_key(name),))])

    async def lists(self) -> list[str]:
        """Names of the lists that hold something."""
        sql = "SELECT DISTINCT list FROM list_items ORDER BY list"
        return await self._run(lambda db: [str(row[0]) for row in db.execute(sql)])

    async def remove_item(self, name: str, item: str) -> str | None:
        """Take ``item`` off the list. Returns it as it was written, or None if it was not on it."""

        def work(db: sqlite3.Connection) -> str | None:
            rows = db.execute("SELECT id, item FROM list_items WHERE list = ?", (_key(name),)).fetchall()
            found = [row for row in rows if _key(row[1]) == _key(item)]
            if not found:
                return None
            db.execute("DELETE FROM list_items WHERE id = ?", (found[0][0],))
            return str(found[0][1])

        return await self._run(work)

    async def clear_list(self, name: str) -> int:
        """Empty the list; returns how many items it had."""
        sql = "DELETE FROM list_items WHERE list = ?"
        return await self._run(lambda db: db.execute(sql, (_key(name),)).rowcount)

    async def add_note(self, text: str) -> Note:
        """Keep a note."""
        created = wall()

        def work(db: sqlite3.Connection) -> Note:
            row = db.execute("INSERT INTO notes (text, created) VALUES (?, ?)", (text, created.isoformat()))
            return Note(int(row.lastrowid or 0), text, created)

        return await self._run(work)

    async def notes(self) -> list[Note]:
        """All notes, oldest first."""
        sql = "SELECT id, text, created FROM notes ORDER BY id"
        return await self._run(
            lambda db: [Note(int(row[0]), str(row[1]), datetime.fromisoformat(row[2])) for row in db.execute(sql)]
        )

    async def delete_notes(self, ids: list[int]) -> int:
        """Forget notes by id; returns how many there were."""
        return await self._run(
            lambda db: sum(db.execute("DELETE FROM notes WHERE id = ?", (each,)).rowcount for each in ids)
        )

    async def timers(self) -> list[TimerRow]:
        """Stored timers, the next one due first."""
        sql = "SELECT id, name, kind, due, seconds FROM timers ORDER BY due"
        return await self._run(
            lambda db: [
                TimerRow(str(row[0]), row[1], str(row[2]), datetime.fromisoformat(row[3]), float(row[4]))
                for row in db.execute(sql)
            ]
        )

    async def save_timer(self, row: TimerRow) -> None:
        """Store a timer, or replace the one with its id."""
        values = (row.id, row.name, row.kind, row.due.isoformat(), row.seconds)
        await self._run(lambda db: db.execute("INSERT OR REPLACE INTO timers VALUES (?, ?, ?, ?, ?)", values))

    async def delete_timer(self, timer_id: str) -> None:
        """Forget a timer; unknown ids are ignored."""
        await self._run(lambda db: db.execute("DELETE FROM timers WHERE id = ?", (timer_id,)))

    async def close(self) -> None:
        """Close the file; idempotent. A later call opens it again."""

        def work() -> None:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

        if self._path is not None:  # what is in memory lives as long as the book
            await infer(work, cost_s=_QUERY_COST_S, executor=self._executor)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def guarded() -> T:
            try:
                connection = self._open()
                with connection:
                    return work(connection)
            except (sqlite3.Error, OSError) as fault:
                raise GloveError(
                    "ERR_BOOK",
                    f"Lists, notes and timers cannot be kept in {self._path or 'memory'}: {fault}.",
                    "Check that the file is writable and the disk is not full.",
                    fault,
                ) from fault

        return await infer(guarded, cost_s=_QUERY_COST_S, executor=self._executor)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            # On a virtual loop the worker is the loop's own thread; queries never overlap either way.
            connection = sqlite3.connect(self._path or ":memory:", check_same_thread=False)
            try:
                if self._path is not None:
                    connection.execute("PRAGMA journal_mode = WAL")
                with closing(connection.cursor()) as cursor:
                    cursor.executescript(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _stamp() -> str:
    return wall().isoformat()
