"""What the everyday tools keep: lists, notes and timers, in one SQLite file or in memory."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agents.base.clock import wall
from agents.stores.sqlite_file import MEMORY, Schema, SqliteFile

_SCHEMA = Schema("""
CREATE TABLE IF NOT EXISTS list_items (id INTEGER PRIMARY KEY, list TEXT NOT NULL, item TEXT NOT NULL, created TEXT);
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, created TEXT);
CREATE TABLE IF NOT EXISTS timers (
    id TEXT PRIMARY KEY, name TEXT, kind TEXT NOT NULL, due TEXT NOT NULL, seconds REAL NOT NULL
);
""")


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

    Every method raises ``GloveError`` when the file cannot be read or written; see ``SqliteFile`` for the codes.

    Args:
        path: the SQLite file (its folder is created), or None to keep everything in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = SqliteFile(path or MEMORY, _SCHEMA, every_write_lasts=True)

    async def add_item(self, name: str, item: str) -> bool:
        """Add ``item`` to the list ``name``. False if it is on it already (capitals do not matter)."""

        def work(db: sqlite3.Connection) -> bool:
            rows = db.execute("SELECT item FROM list_items WHERE list = ?", (_key(name),))
            if any(_key(row[0]) == _key(item) for row in rows):
                return False
            db.execute("INSERT INTO list_items (list, item, created) VALUES (?, ?, ?)", (_key(name), item, _stamp()))
            return True

        return await self._file.write(work)

    async def items(self, name: str) -> list[str]:
        """What is on the list ``name``, oldest first; empty if there is no such list."""
        sql = "SELECT item FROM list_items WHERE list = ? ORDER BY id"
        return await self._file.read(lambda db: [str(row[0]) for row in db.execute(sql, (_key(name),))])

    async def lists(self) -> list[str]:
        """Names of the lists that hold something."""
        sql = "SELECT DISTINCT list FROM list_items ORDER BY list"
        return await self._file.read(lambda db: [str(row[0]) for row in db.execute(sql)])

    async def remove_item(self, name: str, item: str) -> str | None:
        """Take ``item`` off the list. Returns it as it was written, or None if it was not on it."""

        def work(db: sqlite3.Connection) -> str | None:
            rows = db.execute("SELECT id, item FROM list_items WHERE list = ?", (_key(name),)).fetchall()
            found = [row for row in rows if _key(row[1]) == _key(item)]
            if not found:
                return None
            db.execute("DELETE FROM list_items WHERE id = ?", (found[0][0],))
            return str(found[0][1])

        return await self._file.write(work)

    async def clear_list(self, name: str) -> int:
        """Empty the list; returns how many items it had."""
        sql = "DELETE FROM list_items WHERE list = ?"
        return await self._file.write(lambda db: db.execute(sql, (_key(name),)).rowcount)

    async def add_note(self, text: str) -> Note:
        """Keep a note."""
        created = wall()

        def work(db: sqlite3.Connection) -> Note:
            row = db.execute("INSERT INTO notes (text, created) VALUES (?, ?)", (text, created.isoformat()))
            return Note(int(row.lastrowid or 0), text, created)

        return await self._file.write(work)

    async def notes(self) -> list[Note]:
        """All notes, oldest first."""
        sql = "SELECT id, text, created FROM notes ORDER BY id"
        return await self._file.read(
            lambda db: [Note(int(row[0]), str(row[1]), datetime.fromisoformat(row[2])) for row in db.execute(sql)]
        )

    async def delete_notes(self, ids: list[int]) -> int:
        """Forget notes by id; returns how many there were."""
        return await self._file.write(
            lambda db: sum(db.execute("DELETE FROM notes WHERE id = ?", (each,)).rowcount for each in ids)
        )

    async def timers(self) -> list[TimerRow]:
        """Stored timers, the next one due first."""
        sql = "SELECT id, name, kind, due, seconds FROM timers ORDER BY due"
        return await self._file.read(
            lambda db: [
                TimerRow(str(row[0]), row[1], str(row[2]), datetime.fromisoformat(row[3]), float(row[4]))
                for row in db.execute(sql)
            ]
        )

    async def save_timer(self, row: TimerRow) -> None:
        """Store a timer, or replace the one with its id."""
        values = (row.id, row.name, row.kind, row.due.isoformat(), row.seconds)
        await self._file.write(lambda db: db.execute("INSERT OR REPLACE INTO timers VALUES (?, ?, ?, ?, ?)", values))

    async def delete_timer(self, timer_id: str) -> None:
        """Forget a timer; unknown ids are ignored."""
        await self._file.write(lambda db: db.execute("DELETE FROM timers WHERE id = ?", (timer_id,)))

    async def close(self) -> None:
        """Close the file, and forget what is in memory only; idempotent."""
        await self._file.close()


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _stamp() -> str:
    return wall().isoformat()
