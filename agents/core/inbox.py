"""The inbox as the loop sees it: what has arrived is told once, what blocks is mentioned before every model call."""

from __future__ import annotations

from collections.abc import Iterable

from agents.core.context import Context
from agents.core.messages import InboxItem, Message


async def deliver_resolved(context: Context) -> None:
    """Append one message about all resolved items, then mark them consumed.

    A crash in between tells them again: at least once.
    """
    store = context.store
    if "inbox" not in store.supports:
        return
    items = await store.get_resolved_inbox_items()
    if not items:
        return
    lines = [f"[Inbox: {len(items)} item(s) resolved]"]
    lines += [_entry(_resolved(item)) for item in items]
    await context.append([Message(sender="user", text="\n".join(lines), framework_context="inbox")])
    for item in items:
        await store.update_inbox_item(item.id, {"status": "consumed"})


async def blocking_reminder(context: Context) -> list[Message]:
    """A transient message about items that are pending and blocking; empty if there are none."""
    items = [item for item in await pending_items(context) if item.blocking]
    if not items:
        return []
    lines = [f"[Inbox: {len(items)} blocking item(s) still pending; do not act as if they were answered]"]
    lines += [_entry(f"[{item.tag}] {item.request} (posted {item.created_at})") for item in items]
    return [Message(sender="user", text="\n".join(lines), framework_context="runtime")]


async def pending_items(context: Context) -> list[InboxItem]:
    """Items without an answer; none if the store has no inbox."""
    if "inbox" not in context.store.supports:
        return []
    return await context.store.get_pending_inbox_items()


def pending_block(items: Iterable[InboxItem]) -> str:
    """The pending items as a block of a conversation summary; empty if there are none."""
    lines = [
        _entry(f"[{item.tag}] ({'BLOCKING' if item.blocking else 'non-blocking'}) {item.request}") for item in items
    ]
    return "\n".join(["Pending inbox items:", *lines]) if lines else ""


def _resolved(item: InboxItem) -> str:
    return (
        f"[{item.tag}] request: {item.request} | response: {item.response or ''} | resolved: {item.resolved_at or ''}"
    )


def _entry(text: str) -> str:
    """One entry of a list; further lines are set in, so that none can pass for an entry of its own."""
    return "\n  ".join(f"- {text}".splitlines())
