"""What users have said and history does not hold yet, so that a program that dies meanwhile does not lose their words.

Between the moment a request comes in and the moment its message is stored, it waits for earlier turns, and preparers,
hooks, skills and context providers run. Storing the message takes it out of the journal in one step.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.messages import Message
from agents.core.store import StoreAdapter

log = structlog.get_logger(__name__)

Written = Callable[[], Awaitable[object]]
"""Waits until an entry is written."""


class Journal:
    """The requests of one agent that are not in history yet. A store without ``journal`` keeps none.

    What cannot be written is logged: a turn without this safety is better than no answer.
    """

    def __init__(self, store: StoreAdapter) -> None:
        self._store = store
        self._own: set[str] = set()

    @contextlib.asynccontextmanager
    async def holding(self, message: Message | None) -> AsyncGenerator[Written]:
        """Hold ``message`` from now on, until it is stored or the block ends.

        The block gets a function that waits until it is written; the writing itself does not keep the block waiting.
        """
        if message is None or message.id is None or "journal" not in self._store.supports:
            yield _nothing
            return
        entry = message.model_copy(update={"created_at": message.created_at or clock.wall().isoformat()})
        self._own.add(message.id)
        writing = asyncio.ensure_future(self._write(entry))
        try:
            yield lambda: asyncio.shield(writing)
        finally:
            await self._forget(message.id, writing)

    def stored(self, message: Message) -> None:
        """``message`` is in history, and so the store has taken it out of the journal."""
        if message.id is not None:
            self._own.discard(message.id)

    async def left(self) -> list[Message]:
        """What an earlier process has left, in the order in which it was said. Raises what the store raises."""
        if "journal" not in self._store.supports:
            return []
        return [message for message in await self._store.get_journal() if message.id not in self._own]

    async def remove(self, message_id: str) -> None:
        """Take an entry out; the store's faults are logged."""
        try:
            await self._store.remove_journal_entry(message_id)
        except GloveError as fault:
            log.warning("a request could not be taken out of the journal", code=fault.code, error=fault.message)

    async def _write(self, entry: Message) -> None:
        try:
            await self._store.add_journal_entry(entry)
        except GloveError as fault:
            log.warning("a request could not be written into the journal", code=fault.code, error=fault.message)

    async def _forget(self, message_id: str, writing: asyncio.Task[None]) -> None:
        if not writing.done():
            await asyncio.wait({writing})
        if message_id in self._own:
            self._own.discard(message_id)
            await self.remove(message_id)


async def _nothing() -> None:
    """There is nothing to wait for."""
