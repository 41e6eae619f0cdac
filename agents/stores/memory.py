"""A conversation in memory: for tests, for subagents, and for rooms that should forget."""

from __future__ import annotations

import uuid
from typing import Any, TypeVar

from agents.core.messages import Heard, InboxItem, Message, PermissionStatus, Task, TokenUsage
from agents.core.store import StoreAdapter
from agents.stores.json_form import as_json, changed
from agents.stores.permission_key import input_key

S = TypeVar("S", Task, InboxItem)


class MemoryStore(StoreAdapter):
    """Keeps everything until it is garbage, in the form in which other stores write it to a disk.

    Args:
        identifier: name of the conversation; generated when None.
    """

    supports = frozenset({"amend", "tasks", "permissions", "inbox", "subagents", "journal"})

    def __init__(self, identifier: str | None = None) -> None:
        self.identifier = identifier or f"glove_{uuid.uuid4().hex}"
        # As JSON they take a fifth of the room that objects do, and reading them makes copies by itself.
        self._messages: list[str] = []
        self._newest_summary = 0
        self._replies: dict[str, int] = {}
        self._journal: dict[str, str] = {}
        self._usage = TokenUsage()
        self._turns = 0
        self._tasks: list[Task] = []
        self._permissions: dict[tuple[str, str], PermissionStatus] = {}
        self._inbox: dict[str, InboxItem] = {}
        self._children: dict[str, MemoryStore] = {}

    async def get_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return self._from(0)

    async def get_visible_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return self._from(self._newest_summary)

    async def append_messages(self, messages: list[Message]) -> None:
        """See ``StoreAdapter``."""
        for message, written in [(message, as_json(message)) for message in messages]:
            if message.is_compaction:
                self._newest_summary = len(self._messages)
            if message.sender == "agent" and message.id is not None:
                self._replies[message.id] = len(self._messages)
            self._messages.append(written)
            self._journal.pop(message.id or "", None)

    async def amend_message(self, message_id: str, *, text: str, heard: Heard) -> bool:
        """See ``StoreAdapter``."""
        place = self._replies.get(message_id)
        if place is None:
            return False
        message = Message.model_validate_json(self._messages[place])
        message.text, message.heard = text, heard
        self._messages[place] = as_json(message)
        return True

    async def add_journal_entry(self, message: Message) -> None:
        """See ``StoreAdapter``."""
        self._journal[message.id or ""] = as_json(message)

    async def get_journal(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return [Message.model_validate_json(written) for written in self._journal.values()]

    async def remove_journal_entry(self, message_id: str) -> None:
        """See ``StoreAdapter``."""
        self._journal.pop(message_id, None)

    def _from(self, place: int) -> list[Message]:
        return [Message.model_validate_json(written) for written in self._messages[place:]]

    async def add_tokens(self, usage: TokenUsage) -> None:
        """See ``StoreAdapter``."""
        self._usage += usage

    async def get_token_consumption(self) -> TokenUsage:
        """See ``StoreAdapter``."""
        return self._usage.model_copy()

    async def get_turn_count(self) -> int:
        """See ``StoreAdapter``."""
        return self._turns

    async def increment_turn(self) -> None:
        """See ``StoreAdapter``."""
        self._turns += 1

    async def reset_counters(self) -> None:
        """See ``StoreAdapter``."""
        self._usage, self._turns = TokenUsage(), 0

    async def get_tasks(self) -> list[Task]:
        """See ``StoreAdapter``."""
        return [task.model_copy(deep=True) for task in self._tasks]

    async def add_tasks(self, tasks: list[Task]) -> None:
        """See ``StoreAdapter``."""
        self._tasks = [task.model_copy(deep=True) for task in tasks]

    async def update_task(self, task_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""
        self._tasks = [changed(task, changes) if task.id == task_id else task for task in self._tasks]

    async def get_permission(self, tool: str, tool_input: Any = None) -> PermissionStatus:
        """See ``StoreAdapter``."""
        return self._permissions.get((tool, input_key(tool_input)), "unset")

    async def set_permission(self, tool: str, status: PermissionStatus, tool_input: Any = None) -> None:
        """See ``StoreAdapter``."""
        self._permissions[(tool, input_key(tool_input))] = status

    async def get_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        return [item.model_copy(deep=True) for item in self._inbox.values()]

    async def add_inbox_item(self, item: InboxItem) -> None:
        """See ``StoreAdapter``."""
        self._inbox[item.id] = item.model_copy(deep=True)

    async def update_inbox_item(self, item_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""
        if item_id in self._inbox:
            self._inbox[item_id] = changed(self._inbox[item_id], changes)

    async def create_sub_agent_store(self, namespace: str, durable: bool = False) -> MemoryStore:
        """See ``StoreAdapter``."""
        if not durable:
            return MemoryStore(f"{self.identifier}__{namespace}_{uuid.uuid4().hex}")
        if namespace not in self._children:
            self._children[namespace] = MemoryStore(f"{self.identifier}__{namespace}")
        return self._children[namespace]
