"""The conversation as the model should see it: since the last summary, without what nobody heard."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.journal import Journal
from agents.core.messages import Message
from agents.core.store import StoreAdapter


class Context:
    """Reads and writes the history of one conversation; the store keeps all of it, the model sees a part."""

    def __init__(self, store: StoreAdapter) -> None:
        self.store = store
        self.journal = Journal(store)
        self._owed: list[Message] = []

    async def messages(self) -> list[Message]:
        """What the model sees: from the last summary (inclusive) on, without what was never heard or was begun anew."""
        if self._owed:
            await self.append([])
        return _seen(await self.store.get_visible_messages())

    async def foreseen(self, coming: Sequence[Message]) -> list[Message]:
        """What the model would see if ``coming`` had been added; nothing is written."""
        return _seen([*await self.store.get_visible_messages(), *self._owed, *coming])

    async def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end, atomically, with the time of writing where it is not set.

        A caller that is cancelled meanwhile feels it at its next await, once they are written.
        """
        stamp = clock.wall().isoformat()
        for message in messages:
            if message.created_at is None:
                message.created_at = stamp
        writing = [*self._owed, *messages]
        await _to_its_end(self.store.append_messages(writing))
        self._owed.clear()
        for message in writing:
            self.journal.stored(message)

    async def append_for_certain(self, messages: Sequence[Message]) -> None:
        """Add messages that history cannot do without, such as the results of calls that are in it.

        What the store refuses is added before the next messages. Raises what the store raises all the same.
        """
        try:
            await self.append(messages)
        except GloveError:
            self._owed.extend(messages)
            raise


def _seen(visible: Sequence[Message]) -> list[Message]:
    """``visible`` without what was never heard or was begun anew."""
    seen: list[Message] = []
    after: Message | None = None
    for message in reversed(visible):
        if unheard(message):
            continue
        if not continued(message, after):
            seen.append(message)
        if message.framework_context != "runtime":
            # Saved context stands between what a user said and what they said next.
            after = message
    return seen[::-1]


async def _to_its_end(writing: Coroutine[Any, Any, None]) -> None:
    """Await ``writing``. A cancellation that comes meanwhile waits for it and is felt at the caller's next await.

    So whoever wrote something can still note that it is written.
    """
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        caller = asyncio.current_task()
        if caller is None or task.cancelled():
            raise
        caller.uncancel()
        caller.cancel()
        task.result()


def continued(message: Message, after: Message | None) -> bool:
    """Whether the user went on speaking or began anew before an answer: what follows says it again, and maybe more."""
    return (
        after is not None
        and message.sender == after.sender == "user"
        and not message.tool_results
        and not message.content
        and message.framework_context is None
        and after.framework_context is None
        and f"{after.text} ".startswith(f"{message.text} ")
    )


def unheard(message: Message) -> bool:
    """Whether ``message`` is a reply that ended before a word of it was heard. Tool calls keep a message in sight."""
    return (
        message.sender == "agent" and message.heard is not None and not message.text.strip() and not message.tool_calls
    )
