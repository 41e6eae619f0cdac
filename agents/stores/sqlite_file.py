"""An SQLite file used from asyncio: one connection in one worker thread, one transaction per unit of work.

Write-ahead logging keeps readers and the writer out of each other's way, and a process killed at any moment leaves only
whole transactions behind. Faults become ``GloveError`` with a remedy; the transaction they interrupt is rolled back, so
what was stored before stays stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from agents.base.errors import GloveError

T = TypeVar("T")

SCHEMA_VERSION = 1
BUSY_LIMIT_MS = 5_000
"""How long a statement waits for another process's write."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (
    session_id TEXT PRIMARY KEY,
    parent TEXT,
    name TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cache_creation_input_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_input_tokens INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_id TEXT,
    sender TEXT NOT NULL,
    is_compaction INTEGER NOT NULL,
    framework_context TEXT,
    heard TEXT,
    created_at TEXT,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_by_session ON messages (session_id, position);
CREATE INDEX IF NOT EXISTS summaries ON messages (session_id, position) WHERE is_compaction;
CREATE INDEX IF NOT EXISTS messages_by_id ON messages (session_id, message_id) WHERE message_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS tasks (
    session_id TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE TABLE IF NOT EXISTS permissions (
    session_id TEXT NOT NULL, tool TEXT NOT NULL, input_key TEXT NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (session_id, tool, input_key)
);
CREATE TABLE IF NOT EXISTS inbox (
    session_id TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE INDEX IF NOT EXISTS inbox_by_status ON inbox (session_id, status);
"""


class SqliteFile:
    """A database file, opened in its worker thread by the first unit of work.

    Args:
        path: the file; missing folders are made.
        max_bytes: the size the file may reach, so that conversations cannot fill a device; unlimited when None.
    """

    def __init__(self, path: str | Path, max_bytes: int | None = None) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-store")
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in the worker thread and return its result."""
        return await self._run(work, "DEFERRED")

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction of its own: all of it is stored, or nothing."""
        return await self._run(work, "IMMEDIATE")

    async def close(self) -> None:
        """Close the file after the work already submitted; idempotent."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._worker, self._disconnect)
        self._worker.shutdown(wait=False)

    async def _run(self, work: Callable[[sqlite3.Connection], T], mode: str) -> T:
        if self._closed:
            raise GloveError("ERR_STORE_CLOSED", f"The store {self.path.name} is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._transact, work, mode)

    def _transact(self, work: Callable[[sqlite3.Connection], T], mode: str) -> T:
        try:
            connection = self._connection or self._connect()
            connection.execute(f"BEGIN {mode}")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                # A full disk rolls back by itself, and then there is no transaction left to roll back.
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise
            return result
        except sqlite3.Error as fault:
            raise store_error(fault, self.path) from fault

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise _unwritable(self.path, fault) from fault
        connection = sqlite3.connect(
            self.path, timeout=BUSY_LIMIT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_LIMIT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._migrate(connection)
            if self._max_bytes is not None:
                page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
                connection.execute(f"PRAGMA max_page_count = {max(1, self._max_bytes // page_bytes)}")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise GloveError(
                "ERR_STORE_VERSION",
                f"{self.path.name} was written by a newer version of this program.",
                "Update the program, or use another file.",
            )
        if version < SCHEMA_VERSION:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def store_error(fault: sqlite3.Error, path: Path) -> GloveError:
    """What went wrong with the file, in words that help."""
    code = getattr(fault, "sqlite_errorcode", None) or 0
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return GloveError(
                "ERR_STORE_FULL",
                f"There is no room left to write to {path.name}; what was stored before is intact.",
                "Free some disk space or raise the size limit of the store, then go on.",
                fault,
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return GloveError(
                "ERR_STORE_CORRUPT",
                f"{path.name} is damaged or not a conversation store; it was left as it is.",
                "Move the file away to start anew; a backup or the recover command of sqlite3 brings back its content.",
                fault,
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return GloveError(
                "ERR_STORE_BUSY", f"{path.name} is in use by another program.", "Stop the other program.", fault
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _unwritable(path, fault)
        case _:
            return GloveError(
                "ERR_STORE", f"{path.name} could not be read or written: {fault}", "Check the disk.", fault
            )


def _unwritable(path: Path, fault: BaseException) -> GloveError:
    return GloveError(
        "ERR_STORE_UNWRITABLE",
        f"{path.name} cannot be opened for writing.",
        "Check that the folder exists and belongs to the user who runs this program.",
        fault,
    )
