"""Conversations in an SQLite file: each message whole as JSON, beside the columns one searches by."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.messages import Heard, InboxItem, Message, PermissionStatus, Task, TokenUsage
from agents.core.store import StoreAdapter, resolution
from agents.stores.json_form import as_json, changed
from agents.stores.memory import MemoryStore
from agents.stores.permission_key import input_key
from agents.stores.sqlite_file import SqliteFile
from agents.stores.sqlite_schema import CONVERSATIONS, COUNTERS

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_FORGET = "DELETE FROM journal WHERE session_id = ? AND message_id = ?"


@dataclass(frozen=True)
class Conversation:
    """One conversation of a file; times are ISO 8601 in UTC."""

    session_id: str
    parent: str | None
    name: str | None
    created_at: str
    updated_at: str


class SqliteStore(StoreAdapter):
    """One conversation of a file.

    Writing is atomic per call and survives a kill of the process; losing power may cost the last calls, never the file.
    Every method raises ``GloveError`` for faults of the file; see ``SqliteFile`` for the codes.

    Args:
        path: the file; it and missing folders are made when first used.
        session_id: name of the conversation; generated when None.
        max_bytes: the size the file may reach; unlimited when None.
    """

    supports = frozenset({"amend", "tasks", "permissions", "inbox", "subagents", "journal"})

    def __init__(self, path: str | Path, session_id: str | None = None, *, max_bytes: int | None = None) -> None:
        self.identifier = session_id or f"glove_{uuid.uuid4().hex}"
        self._file = SqliteFile(path, CONVERSATIONS, max_bytes)
        self._owns_file = True
        self._parent: SqliteStore | None = None
        self._children: dict[str, SqliteStore] = {}

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    async def get_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return await self._messages("SELECT body FROM messages WHERE session_id = ? ORDER BY position")

    async def get_visible_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        newest = "SELECT MAX(position) FROM messages WHERE session_id = ?1 AND is_compaction"
        return await self._messages(
            f"SELECT body FROM messages WHERE session_id = ?1 AND position >= COALESCE(({newest}), 0) ORDER BY position"
        )

    async def append_messages(self, messages: list[Message]) -> None:
        """See ``StoreAdapter``."""
        rows = [self._message_row(message) for message in messages]
        said = [(self.identifier, message.id) for message in messages if message.sender == "user" and message.id]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO messages (session_id, message_id, sender, is_compaction, framework_context, heard,"
                " created_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            connection.executemany(_FORGET, said)

        await self._write(work)

    async def add_journal_entry(self, message: Message) -> None:
        """See ``StoreAdapter``."""
        row = (self.identifier, message.id, as_json(message))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO journal (session_id, message_id, body) VALUES (?, ?, ?)"
                " ON CONFLICT (session_id, message_id) DO UPDATE SET body = excluded.body",
                row,
            )

        await self._write(work)

    async def get_journal(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return await self._messages("SELECT body FROM journal WHERE session_id = ? ORDER BY position")

    async def remove_journal_entry(self, message_id: str) -> None:
        """See ``StoreAdapter``."""
        await self._write(lambda connection: connection.execute(_FORGET, (self.identifier, message_id)))

    async def amend_message(self, message_id: str, *, text: str, heard: Heard) -> bool:
        """See ``StoreAdapter``."""

        def work(connection: sqlite3.Connection) -> bool:
            row = connection.execute(
                "SELECT position, body FROM messages WHERE session_id = ? AND message_id = ? AND sender = 'agent'"
                " ORDER BY position DESC LIMIT 1",
                (self.identifier, message_id),
            ).fetchone()
            if row is None:
                return False
            position, body = row
            message = self._parsed(Message, body)
            message.text, message.heard = text, heard
            connection.execute(
                "UPDATE messages SET heard = ?, body = ? WHERE position = ?", (heard, as_json(message), position)
            )
            return True

        return await self._write(work)

    async def add_tokens(self, usage: TokenUsage) -> None:
        """See ``StoreAdapter``."""
        changes = ", ".join(f"{name} = {name} + ?" for name in COUNTERS)
        values = [getattr(usage, name) for name in COUNTERS]
        await self._update_conversation(changes, values)

    async def count_model_call(self, usage: TokenUsage) -> None:
        """See ``StoreAdapter``."""
        changes = ", ".join((*(f"{name} = {name} + ?" for name in COUNTERS), "turns = turns + 1"))
        await self._update_conversation(changes, [getattr(usage, name) for name in COUNTERS])

    async def get_token_consumption(self) -> TokenUsage:
        """See ``StoreAdapter``."""
        rows = await self._rows(f"SELECT {', '.join(COUNTERS)} FROM conversations WHERE session_id = ?")
        return TokenUsage.model_validate(dict(zip(COUNTERS, rows[0], strict=True))) if rows else TokenUsage()

    async def get_turn_count(self) -> int:
        """See ``StoreAdapter``."""
        rows = await self._rows("SELECT turns FROM conversations WHERE session_id = ?")
        return rows[0][0] if rows else 0

    async def increment_turn(self) -> None:
        """See ``StoreAdapter``."""
        await self._update_conversation("turns = turns + 1", [])

    async def reset_counters(self) -> None:
        """See ``StoreAdapter``."""
        await self._update_conversation(", ".join(f"{name} = 0" for name in (*COUNTERS, "turns")), [])

    async def get_tasks(self) -> list[Task]:
        """See ``StoreAdapter``."""
        rows = await self._rows("SELECT body FROM tasks WHERE session_id = ? ORDER BY position")
        return [self._parsed(Task, body) for (body,) in rows]

    async def add_tasks(self, tasks: list[Task]) -> None:
        """See ``StoreAdapter``."""
        rows = [(self.identifier, task.id, index, as_json(task)) for index, task in enumerate(tasks)]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM tasks WHERE session_id = ?", (self.identifier,))
            connection.executemany("INSERT INTO tasks (session_id, id, position, body) VALUES (?, ?, ?, ?)", rows)

        await self._write(work)

    async def update_task(self, task_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""

        def work(connection: sqlite3.Connection) -> None:
            key = (self.identifier, task_id)
            row = connection.execute("SELECT body FROM tasks WHERE session_id = ? AND id = ?", key).fetchone()
            if row is not None:
                task = changed(self._parsed(Task, row[0]), changes)
                connection.execute("UPDATE tasks SET body = ? WHERE session_id = ? AND id = ?", (as_json(task), *key))

        await self._write(work)

    async def get_permission(self, tool: str, tool_input: Any = None) -> PermissionStatus:
        """See ``StoreAdapter``."""
        rows = await self._rows(
            "SELECT status FROM permissions WHERE session_id = ? AND tool = ? AND input_key = ?",
            tool,
            input_key(tool_input),
        )
        return rows[0][0] if rows else "unset"

    async def set_permission(self, tool: str, status: PermissionStatus, tool_input: Any = None) -> None:
        """See ``StoreAdapter``."""
        row = (self.identifier, tool, input_key(tool_input), status)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO permissions (session_id, tool, input_key, status) VALUES (?, ?, ?, ?)", row
            )

        await self._write(work)

    async def get_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        rows = await self._rows("SELECT body FROM inbox WHERE session_id = ? ORDER BY rowid")
        return [self._parsed(InboxItem, body) for (body,) in rows]

    async def get_resolved_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        return await self._inbox_items("resolved")

    async def get_pending_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        return await self._inbox_items("pending")

    async def _inbox_items(self, status: str) -> list[InboxItem]:
        query = "SELECT body FROM inbox WHERE session_id = ? AND status = ? ORDER BY rowid"
        return [self._parsed(InboxItem, body) for (body,) in await self._rows(query, status)]

    async def add_inbox_item(self, item: InboxItem) -> None:
        """See ``StoreAdapter``."""
        row = (self.identifier, item.id, item.status, as_json(item))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO inbox (session_id, id, status, body) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session_id, id) DO UPDATE SET status = excluded.status, body = excluded.body",
                row,
            )

        await self._write(work)

    async def update_inbox_item(self, item_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""
        await self._change_item(item_id, changes)

    async def resolve_inbox_item(self, item_id: str, response: str) -> bool:
        """See ``StoreAdapter``."""
        return await self._change_item(item_id, resolution(response), only="pending")

    async def _change_item(self, item_id: str, changes: dict[str, Any], only: str | None = None) -> bool:
        """Change one item, if its status is ``only``. False if there is none such."""

        def work(connection: sqlite3.Connection) -> bool:
            key = (self.identifier, item_id)
            row = connection.execute("SELECT status, body FROM inbox WHERE session_id = ? AND id = ?", key).fetchone()
            if row is None or only not in (None, row[0]):
                return False
            item = changed(self._parsed(InboxItem, row[1]), changes)
            connection.execute(
                "UPDATE inbox SET status = ?, body = ? WHERE session_id = ? AND id = ?",
                (item.status, as_json(item), *key),
            )
            return True

        return await self._write(work)

    async def create_sub_agent_store(self, namespace: str, durable: bool = False) -> StoreAdapter:
        """See ``StoreAdapter``."""
        if not durable:
            return MemoryStore(f"{self.identifier}__{namespace}_{uuid.uuid4().hex}")
        if namespace not in self._children:
            self._children[namespace] = self._child(f"{self.identifier}__{namespace}")
        return self._children[namespace]

    async def set_name(self, name: str) -> None:
        """Give the conversation a name that people read."""
        await self._update_conversation("name = ?", [name])

    async def close(self) -> None:
        """See ``StoreAdapter``."""
        if self._owns_file:
            await self._file.close()

    def beside(self, session_id: str | None = None) -> SqliteStore:
        """Another conversation of the same file, over the same connection, for programs that hold many.

        It ends when this store is closed; closing it alone does nothing.
        """
        other = SqliteStore.__new__(SqliteStore)
        other.identifier, other._file = session_id or f"glove_{uuid.uuid4().hex}", self._file
        other._owns_file, other._parent, other._children = False, None, {}
        return other

    def _child(self, session_id: str) -> SqliteStore:
        child = self.beside(session_id)
        child._parent = self
        return child

    async def _messages(self, query: str) -> list[Message]:
        def work(connection: sqlite3.Connection) -> list[Message]:
            # Parsed here, in the worker: a long history would hold up the loop.
            return [self._parsed(Message, body) for (body,) in connection.execute(query, (self.identifier,))]

        return await self._file.read(work)

    async def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        def work(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            return connection.execute(query, (self.identifier, *parameters)).fetchall()

        return await self._file.read(work)

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        now = clock.wall().isoformat()
        parent = self._parent.identifier if self._parent is not None else None

        def registered(connection: sqlite3.Connection) -> T:
            connection.execute(
                "INSERT INTO conversations (session_id, parent, created_at, updated_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at",
                (self.identifier, parent, now, now),
            )
            return work(connection)

        return await self._file.write(registered)

    async def _update_conversation(self, changes: str, values: list[Any]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(f"UPDATE conversations SET {changes} WHERE session_id = ?", (*values, self.identifier))

        await self._write(work)

    def _message_row(self, message: Message) -> tuple[Any, ...]:
        return (
            self.identifier,
            message.id,
            message.sender,
            int(message.is_compaction),
            message.framework_context,
            message.heard,
            message.created_at,
            as_json(message),
        )

    def _parsed(self, shape: type[M], body: str) -> M:
        try:
            return shape.model_validate_json(body)
        except ValidationError as fault:
            raise GloveError(
                "ERR_STORE_CORRUPT",
                f"{self.path.name} holds an entry of the conversation {self.identifier!r} that cannot be read.",
                "Restore the file from a backup, or start another conversation.",
                fault,
            ) from fault


async def list_conversations(path: str | Path) -> list[Conversation]:
    """The conversations of a file, last used first; subagents' have a ``parent``."""
    file = SqliteFile(path, CONVERSATIONS)

    def work(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
        query = "SELECT session_id, parent, name, created_at, updated_at FROM conversations ORDER BY updated_at DESC"
        return connection.execute(query).fetchall()

    try:
        return [Conversation(*row) for row in await file.read(work)]
    finally:
        await file.close()


async def resolve_inbox_item(path: str | Path, item_id: str, response: str) -> bool:
    """Answer a pending inbox item of whatever conversation of a file, also from another process than its agent's.

    The agent is told at its next request. False if no such item is pending.
    """
    if not Path(path).exists():
        return False
    file = SqliteFile(path, CONVERSATIONS)

    def work(connection: sqlite3.Connection) -> list[tuple[str]]:
        query = "SELECT session_id FROM inbox WHERE id = ? AND status = 'pending'"
        return connection.execute(query, (item_id,)).fetchall()

    try:
        found = [session_id for (session_id,) in await file.read(work)]
    finally:
        await file.close()
    for session_id in found:
        store = SqliteStore(path, session_id)
        try:
            if await store.resolve_inbox_item(item_id, response):
                return True
        finally:
            await store.close()
    return False
