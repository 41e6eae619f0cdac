"""An SQLite file used from asyncio: one connection in one worker thread, one transaction per unit of work.

Write-ahead logging keeps readers and the writer out of each other's way, and a process killed at any moment leaves only
whole transactions behind. Faults become ``GloveError`` with a remedy; the transaction they interrupt is rolled back, so
what was stored before stays stored.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agents.base.clock import blocking_sleep, infer, perf_counter
from agents.base.errors import GloveError

T = TypeVar("T")

BUSY_LIMIT_MS = 5_000
"""How long a statement waits for another process's write."""

MEMORY = Path(":memory:")
"""A database that ends when it is closed."""

_WORK_COST_S = 0.001
_AGAIN_S = 0.02


@dataclass(frozen=True)
class Schema:
    """The tables of a file.

    Attributes:
        sql: statements that make the tables of a new file, as they are now.
        changes: statements that take a file from version 1 to 2, from 2 to 3, and so on; they are never changed again.
    """

    sql: str
    changes: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """Grows with every change; a file of a newer version is left alone."""
        return len(self.changes) + 1

    def statements_from(self, version: int) -> list[str]:
        """What brings a file of ``version`` up to date; 0 is a new file."""
        scripts = (self.sql,) if version == 0 else self.changes[version - 1 :]
        return [statement for script in scripts for statement in _statements(script)]


class SqliteFile:
    """A database file, opened in its worker thread by the first unit of work.

    Every method raises ``GloveError`` for faults of the file: ``ERR_STORE_FULL``, ``ERR_STORE_CORRUPT``,
    ``ERR_STORE_BUSY``, ``ERR_STORE_UNWRITABLE``, ``ERR_STORE_VERSION``, ``ERR_STORE_CLOSED``, ``ERR_STORE_VALUE``,
    ``ERR_STORE``.

    Args:
        path: the file (missing folders are made), or ``MEMORY``.
        schema: its tables.
        max_bytes: the size the file may reach, so that conversations cannot fill a device; unlimited when None.
        every_write_lasts: whether a power cut spares even the last writes; each then waits for the disk.
    """

    def __init__(
        self, path: str | Path, schema: Schema, max_bytes: int | None = None, *, every_write_lasts: bool = False
    ) -> None:
        self.path = Path(path)
        self._schema = schema
        self._max_bytes = max_bytes
        self._synchronous = "FULL" if every_write_lasts else "NORMAL"
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")
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
        await infer(self._disconnect, cost_s=_WORK_COST_S, executor=self._worker)
        self._worker.shutdown(wait=False)

    async def _run(self, work: Callable[[sqlite3.Connection], T], mode: str) -> T:
        if self._closed:
            raise GloveError("ERR_STORE_CLOSED", f"The store {self.path.name} is closed.")
        return await infer(lambda: self._transact(work, mode), cost_s=_WORK_COST_S, executor=self._worker)

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
        except UnicodeEncodeError as fault:
            raise GloveError("ERR_STORE_VALUE", "Half a character cannot be part of a name.", cause=fault) from fault

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise _unwritable(self.path, fault) from fault
        # On a virtual loop the worker is the loop's own thread; work never overlaps either way.
        connection = sqlite3.connect(
            self.path, timeout=BUSY_LIMIT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_LIMIT_MS}")
            _use_write_ahead_log(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            if self._version(connection) < self._schema.version:
                self._migrate(connection)
            if self._max_bytes is not None:
                page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
                connection.execute(f"PRAGMA max_page_count = {max(1, self._max_bytes // page_bytes)}")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _version(self, connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > self._schema.version:
            raise GloveError(
                "ERR_STORE_VERSION",
                f"{self.path.name} was written by a newer version of this program.",
                "Update the program, or use another file.",
            )
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the file up to date, all or nothing; another process may be doing the same."""
        connection.execute("BEGIN IMMEDIATE")
        for statement in self._schema.statements_from(self._version(connection)):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._schema.version}")
        connection.execute("COMMIT")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _statements(script: str) -> list[str]:
    """The statements of a script one by one: run as a script they would end the transaction around them."""
    statements, begun = list[str](), ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            statements.append(begun.strip())
            begun = ""
    return statements


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, which stays with the file.

    The switch does not wait for other processes that open the same new file, whatever the time limit says.
    """
    deadline = perf_counter() + BUSY_LIMIT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or perf_counter() > deadline:
                raise
            blocking_sleep(_AGAIN_S)
        else:
            return


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
                f"{path.name} is damaged or not a database of this program; it was left as it is.",
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
