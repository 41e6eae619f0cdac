"""The store contract: everything a conversation must remember. Optional groups may be left out by subclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from agents.base import clock
from agents.core.messages import Heard, InboxItem, Message, PermissionStatus, Task, TokenUsage


class StoreAdapter(ABC):
    """Persists one conversation. Lists returned are copies, as deep as they go.

    ``agents.testing.check_store`` runs the contract against a store. A method either does all it says or raises a
    ``GloveError`` and has changed nothing: what the agent could not store it stores with its next write.

    ``supports`` names the optional groups that are implemented: ``amend``, ``tasks``, ``permissions``, ``inbox``,
    ``subagents``, ``journal``. Absence silently disables the feature that needs it.
    """

    identifier: str
    supports: frozenset[str] = frozenset()

    @abstractmethod
    async def get_messages(self) -> list[Message]:
        """All messages, oldest first."""

    @abstractmethod
    async def append_messages(self, messages: list[Message]) -> None:
        """Add messages at the end, atomically; in the same step, those of the journal with their ids leave it."""

    async def get_token_count(self) -> int:
        """Tokens in plus out since the last reset, without cache counters."""
        usage = await self.get_token_consumption()
        return usage.tokens_in + usage.tokens_out

    @abstractmethod
    async def add_tokens(self, usage: TokenUsage) -> None:
        """Count tokens."""

    @abstractmethod
    async def get_token_consumption(self) -> TokenUsage:
        """All counters since the last reset."""

    @abstractmethod
    async def get_turn_count(self) -> int:
        """Model calls since the last reset."""

    @abstractmethod
    async def increment_turn(self) -> None:
        """Count one model call."""

    async def count_model_call(self, usage: TokenUsage) -> None:
        """Count tokens and one model call; stores that write to a disk override this and write once."""
        await self.add_tokens(usage)
        await self.increment_turn()

    @abstractmethod
    async def reset_counters(self) -> None:
        """Zero tokens and turns; messages stay."""

    async def get_visible_messages(self) -> list[Message]:
        """The messages that the model still sees: from the newest summary (inclusive) on, oldest first.

        Stores that keep long histories override this, so that a turn costs no more than what it reads.
        """
        return since_compaction(await self.get_messages())

    async def amend_message(self, message_id: str, *, text: str, heard: Heard) -> bool:
        """Replace the text of an agent message by what was really heard. False if there is no such message."""
        raise NotImplementedError

    async def add_journal_entry(self, message: Message) -> None:
        """Keep what a user said until it is stored; an entry with the same id is replaced. It has an id."""
        raise NotImplementedError

    async def get_journal(self) -> list[Message]:
        """What is kept and not stored yet, in the order in which it came."""
        raise NotImplementedError

    async def remove_journal_entry(self, message_id: str) -> None:
        """Forget an entry; unknown ids are ignored."""
        raise NotImplementedError

    async def get_tasks(self) -> list[Task]:
        """The task list."""
        raise NotImplementedError

    async def add_tasks(self, tasks: list[Task]) -> None:
        """Replace the task list."""
        raise NotImplementedError

    async def update_task(self, task_id: str, changes: dict[str, Any]) -> None:
        """Change fields of one task; unknown ids are ignored."""
        raise NotImplementedError

    async def get_permission(self, tool: str, tool_input: Any = None) -> PermissionStatus:
        """What was answered for this tool with this input."""
        raise NotImplementedError

    async def set_permission(self, tool: str, status: PermissionStatus, tool_input: Any = None) -> None:
        """Remember an answer."""
        raise NotImplementedError

    async def get_inbox_items(self) -> list[InboxItem]:
        """All inbox items."""
        raise NotImplementedError

    async def add_inbox_item(self, item: InboxItem) -> None:
        """Add one item."""
        raise NotImplementedError

    async def update_inbox_item(self, item_id: str, changes: dict[str, Any]) -> None:
        """Change ``status``, ``response`` or ``resolved_at`` of one item; unknown ids are ignored."""
        raise NotImplementedError

    async def get_resolved_inbox_items(self) -> list[InboxItem]:
        """Items that were resolved and not yet consumed."""
        return [item for item in await self.get_inbox_items() if item.status == "resolved"]

    async def get_pending_inbox_items(self) -> list[InboxItem]:
        """Items without an answer.

        This and ``get_resolved_inbox_items`` are asked for at each request: stores that keep many items override them,
        so that what was dealt with long ago costs nothing.
        """
        return [item for item in await self.get_inbox_items() if item.status == "pending"]

    async def resolve_inbox_item(self, item_id: str, response: str) -> bool:
        """Answer a pending item; the agent is told at its next request. False if no such item is pending.

        The first answer counts. Stores that several processes write to override this, so that it counts there too.
        """
        pending = any(item.id == item_id and item.status == "pending" for item in await self.get_inbox_items())
        if pending:
            await self.update_inbox_item(item_id, resolution(response))
        return pending

    async def create_sub_agent_store(self, namespace: str, durable: bool = False) -> StoreAdapter:
        """A store for a subagent: durable ones are found again by namespace."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release files; idempotent."""


def resolution(response: str) -> dict[str, Any]:
    """The changes that answer an inbox item now."""
    return {"status": "resolved", "response": response, "resolved_at": clock.wall().isoformat()}


def since_compaction(messages: list[Message]) -> list[Message]:
    """The slice of ``messages`` that starts at the newest summary, or everything."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].is_compaction:
            return messages[index:]
    return messages
