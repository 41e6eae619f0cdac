"""Those who follow a session: each has a bounded queue of its own, and nobody waits for a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import structlog

from agents.base.errors import GloveError
from agents.web.backlog import Backlog
from agents.web.wire import Event

log = structlog.get_logger(__name__)

MAX_READERS = 16
"""How many may follow one session."""

WAITING_EVENTS = 1024
"""Events that may wait for a reader before it is dropped; the words of one reply count as one."""


class Reader:
    """One who follows; ``events`` yields what was offered, in order, until the end."""

    def __init__(self, limit: int, first: Iterable[Event] = ()) -> None:
        self._limit = limit
        self._waiting = Backlog()
        for event in first:
            self._waiting.add(event)
        self._more = asyncio.Event()
        self._ended = False

    def offer(self, event: Event) -> None:
        """Add one event; a reader that has too many waiting loses them and is told that this is its end."""
        if self._ended:
            return
        if len(self._waiting) >= self._limit:
            log.warning("a reader was too slow and is dropped", waiting=len(self._waiting))
            self._waiting.clear()
            self.end("slow")
            return
        self._waiting.add(event)
        self._more.set()

    def end(self, reason: str) -> None:
        """Let the reader have what waits, and then its end with ``reason``; idempotent."""
        if not self._ended:
            self._ended = True
            self._waiting.add({"type": "end", "reason": reason})
            self._more.set()

    async def events(self) -> AsyncGenerator[Event]:
        """All events, the last of them ``end``."""
        while True:
            while self._waiting:
                yield self._waiting.take()
                if self._ended and not self._waiting:
                    return
            self._more.clear()
            await self._more.wait()


class Readers:
    """All who follow one session.

    Args:
        max_readers: how many there may be.
        waiting_events: how many events may wait for each.
    """

    def __init__(self, max_readers: int = MAX_READERS, waiting_events: int = WAITING_EVENTS) -> None:
        self._max_readers = max_readers
        self._waiting_events = waiting_events
        self._readers: list[Reader] = []

    def add(self, first: Iterable[Event] = ()) -> Reader:
        """A new reader that is told ``first`` and then everything new. Undo it with ``remove``.

        Raises:
            GloveError: ``ERR_READERS_FULL``.
        """
        if len(self._readers) >= self._max_readers:
            raise GloveError("ERR_READERS_FULL", "Too many follow this session.", "Close other tabs of it.")
        reader = Reader(self._waiting_events, first)
        self._readers.append(reader)
        return reader

    def remove(self, reader: Reader) -> None:
        """Tell ``reader`` nothing more; idempotent."""
        if reader in self._readers:
            self._readers.remove(reader)

    def offer(self, event: Event) -> None:
        """Tell everybody."""
        for reader in tuple(self._readers):
            reader.offer(event)

    def end(self, reason: str) -> None:
        """End everybody."""
        for reader in tuple(self._readers):
            reader.end(reason)
