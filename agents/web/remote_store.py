"""A conversation whose record is kept elsewhere: by functions of the developer, or by a server's ``store_routes``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.core.messages import Heard, InboxItem, Message, PermissionStatus, Task, TokenUsage
from agents.core.store import StoreAdapter, since_compaction
from agents.stores.memory import MemoryStore
from agents.web.sessions import valid_session_id

S = TypeVar("S", Message, Task, InboxItem)
Action = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class StoreActions:
    """How a record is read and written; every function gets the session id first.

    Only messages are required. What is missing is kept in memory, and is gone with the process. Lists may hold the
    shapes of ``agents.core.messages`` or plain dictionaries.

    Attributes:
        get_messages: ``(session_id)`` → all messages, oldest first.
        append_messages: ``(session_id, messages)``.
        get_visible_messages: ``(session_id)`` → those from the newest summary on; worth having for long histories.
        amend_message: ``(session_id, message_id, text, heard)`` → whether there is such a reply; without it the store
            does not support ``amend``.
        get_token_consumption: ``(session_id)`` → the four counters.
        add_tokens: ``(session_id, usage)``.
        get_turn_count: ``(session_id)`` → model calls.
        increment_turn: ``(session_id)``.
        reset_counters: ``(session_id)``.
        get_tasks: ``(session_id)`` → tasks.
        add_tasks: ``(session_id, tasks)``, replaces them.
        update_task: ``(session_id, task_id, changes)``.
        get_permission: ``(session_id, tool, tool_input)`` → ``granted``, ``denied`` or ``unset``.
        set_permission: ``(session_id, tool, status, tool_input)``.
        get_inbox_items: ``(session_id)`` → items.
        add_inbox_item: ``(session_id, item)``.
        update_inbox_item: ``(session_id, item_id, changes)``.
        get_resolved_inbox_items: ``(session_id)`` → items; picked from ``get_inbox_items`` when missing.
        close: ``()``, releases what the others hold.
    """

    get_messages: Action
    append_messages: Action
    get_visible_messages: Action | None = None
    amend_message: Action | None = None
    get_token_consumption: Action | None = None
    add_tokens: Action | None = None
    get_turn_count: Action | None = None
    increment_turn: Action | None = None
    reset_counters: Action | None = None
    get_tasks: Action | None = None
    add_tasks: Action | None = None
    update_task: Action | None = None
    get_permission: Action | None = None
    set_permission: Action | None = None
    get_inbox_items: Action | None = None
    add_inbox_item: Action | None = None
    update_inbox_item: Action | None = None
    get_resolved_inbox_items: Action | None = None
    close: Action | None = None


def create_remote_store(session_id: str, actions: StoreActions | str, *, token: str | None = None) -> StoreAdapter:
    """A record that is kept elsewhere.

    Args:
        session_id: names it.
        actions: how it is read and written, or the address of a server's API (``https://example.org/api``), whose
            ``store_routes`` are then used.
        token: the server's token, where ``actions`` is an address.

    Raises:
        BadRequest: ``ERR_SESSION_ID``.
    """
    valid_session_id(session_id)
    if isinstance(actions, str):
        from agents.web.store_client import http_actions

        actions = http_actions(actions, token)
    return RemoteStore(session_id, actions)


class RemoteStore(StoreAdapter):
    """See ``create_remote_store``. Raises what the actions raise."""

    def __init__(self, session_id: str, actions: StoreActions) -> None:
        self.identifier = session_id
        self._actions = actions
        self._local = MemoryStore(session_id)
        groups = {"tasks", "permissions", "inbox", "subagents"}
        self.supports = frozenset(groups | ({"amend"} if actions.amend_message is not None else set()))

    async def get_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        return _shapes(Message, await self._actions.get_messages(self.identifier))

    async def append_messages(self, messages: list[Message]) -> None:
        """See ``StoreAdapter``."""
        if messages:
            await self._actions.append_messages(self.identifier, _shapes(Message, messages))

    async def get_visible_messages(self) -> list[Message]:
        """See ``StoreAdapter``."""
        if self._actions.get_visible_messages is None:
            return since_compaction(await self.get_messages())
        return _shapes(Message, await self._actions.get_visible_messages(self.identifier))

    async def amend_message(self, message_id: str, *, text: str, heard: Heard) -> bool:
        """See ``StoreAdapter``."""
        if self._actions.amend_message is None:
            raise NotImplementedError
        return bool(await self._actions.amend_message(self.identifier, message_id, text, heard))

    async def add_tokens(self, usage: TokenUsage) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.add_tokens, self._local.add_tokens, usage)

    async def get_token_consumption(self) -> TokenUsage:
        """See ``StoreAdapter``."""
        told = await self._do(self._actions.get_token_consumption, self._local.get_token_consumption)
        return TokenUsage.model_validate(told)

    async def get_turn_count(self) -> int:
        """See ``StoreAdapter``."""
        return int(await self._do(self._actions.get_turn_count, self._local.get_turn_count))

    async def increment_turn(self) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.increment_turn, self._local.increment_turn)

    async def reset_counters(self) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.reset_counters, self._local.reset_counters)

    async def get_tasks(self) -> list[Task]:
        """See ``StoreAdapter``."""
        return _shapes(Task, await self._do(self._actions.get_tasks, self._local.get_tasks))

    async def add_tasks(self, tasks: list[Task]) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.add_tasks, self._local.add_tasks, tasks)

    async def update_task(self, task_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.update_task, self._local.update_task, task_id, changes)

    async def get_permission(self, tool: str, tool_input: Any = None) -> PermissionStatus:
        """See ``StoreAdapter``."""
        return await self._do(self._actions.get_permission, self._local.get_permission, tool, tool_input)

    async def set_permission(self, tool: str, status: PermissionStatus, tool_input: Any = None) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.set_permission, self._local.set_permission, tool, status, tool_input)

    async def get_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        return _shapes(InboxItem, await self._do(self._actions.get_inbox_items, self._local.get_inbox_items))

    async def add_inbox_item(self, item: InboxItem) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.add_inbox_item, self._local.add_inbox_item, item)

    async def update_inbox_item(self, item_id: str, changes: dict[str, Any]) -> None:
        """See ``StoreAdapter``."""
        await self._do(self._actions.update_inbox_item, self._local.update_inbox_item, item_id, changes)

    async def get_resolved_inbox_items(self) -> list[InboxItem]:
        """See ``StoreAdapter``."""
        if self._actions.get_resolved_inbox_items is None:
            return await super().get_resolved_inbox_items()
        return _shapes(InboxItem, await self._actions.get_resolved_inbox_items(self.identifier))

    async def create_sub_agent_store(self, namespace: str, durable: bool = False) -> StoreAdapter:
        """A record in memory: what subagents say between themselves stays here."""
        return await self._local.create_sub_agent_store(namespace, durable)

    async def close(self) -> None:
        """Release what the actions hold; idempotent."""
        if self._actions.close is not None:
            await self._actions.close()

    async def _do(self, action: Action | None, fallback: Action, *values: Any) -> Any:
        return await (fallback(*values) if action is None else action(self.identifier, *values))


def _shapes(shape: type[S], values: list[Any]) -> list[S]:
    """``values`` as copies of their own."""
    return [
        value.model_copy(deep=True) if isinstance(value, shape) else shape.model_validate(value) for value in values
    ]
