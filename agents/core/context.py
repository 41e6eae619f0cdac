"""The conversation as the model should see it: since the last summary, without what nobody heard."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base import clock
from agents.core.messages import Message
from agents.core.store import StoreAdapter


class Context:
    """Reads and writes the history of one conversation; the store keeps all of it, the model sees a part."""

    def __init__(self, store: StoreAdapter) -> None:
        self.store = store

    async def messages(self) -> list[Message]:
        """What the model sees: from the last summary (inclusive) on, without what was never heard or was begun anew."""
        seen: list[Message] = []
        after: Message | None = None
        for message in reversed(await self.store.get_visible_messages()):
            if unheard(message):
                continue
            if not continued(message, after):
                seen.append(message)
            if message.framework_context != "runtime":
                # Saved context stands between what a user said and what they said next.
                after = message
        return seen[::-1]

    async def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end, atomically, with the time of writing where it is not set."""
        stamp = clock.wall().isoformat()
        for message in messages:
            if message.created_at is None:
                message.created_at = stamp
        await self.store.append_messages(list(messages))


def continued(message: Message, after: Message | None) -> bool:
    """Whether the user went on speaking before an answer: the message that follows says it again, and more."""
    return (
        after is not None
        and message.sender == after.sender == "user"
        and not message.tool_results
        and not message.content
        and message.framework_context is None
        and after.framework_context is None
        and after.text.startswith(f"{message.text} ")
    )


def unheard(message: Message) -> bool:
    """Whether ``message`` is a reply that ended before a word of it was heard. Tool calls keep a message in sight."""
    return (
        message.sender == "agent" and message.heard is not None and not message.text.strip() and not message.tool_calls
    )
