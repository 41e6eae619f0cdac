"""Tools that every agent has as far as its store can keep what they write."""

from __future__ import annotations

from agents.core.builtin.inbox_tools import POST_TO_INBOX
from agents.core.builtin.tasks import UPDATE_TASKS
from agents.core.registry import AnyTool
from agents.core.store import StoreAdapter


def builtin_tools(store: StoreAdapter) -> list[AnyTool]:
    """The tools that ``store`` has room for, in the order in which a model should see them."""
    tools: list[tuple[str, AnyTool]] = [("tasks", UPDATE_TASKS), ("inbox", POST_TO_INBOX)]
    return [tool for group, tool in tools if group in store.supports]
