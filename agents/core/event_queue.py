"""Where events from outside wait for a turn to take them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal, Protocol

from agents.core.external_event import ExternalEvent

QUEUE_LIMIT = 256
"""Events that may wait at the same time."""

REMEMBERED_IDS = 4096
"""Ids of earlier events that are still recognised as duplicates."""


class EventQueue(Protocol):
    """Where events wait until a turn takes them; replace it by a durable one where they must survive a restart."""

    async def add(self, event: ExternalEvent) -> Literal["added", "duplicate", "full"]:
        """Put ``event`` at the end, unless its id is known or there is no room."""
        ...

    async def pending(self) -> list[ExternalEvent]:
        """What waits, oldest first."""
        ...

    async def remove(self, ids: Iterable[str]) -> None:
        """Forget events that were delivered or dropped. Their ids stay known."""
        ...


class MemoryEventQueue:
    """An ``EventQueue`` that ends with the process.

    Args:
        limit: events that may wait at the same time.
        remembered: ids that are recognised as duplicates, the newest ones.
    """

    def __init__(self, limit: int = QUEUE_LIMIT, remembered: int = REMEMBERED_IDS) -> None:
        self._limit = limit
        self._remembered = max(limit, remembered)
        self._events: dict[str, ExternalEvent] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    async def add(self, event: ExternalEvent) -> Literal["added", "duplicate", "full"]:
        """Put ``event`` at the end, unless its id is known or there is no room."""
        if event.id in self._known:
            return "duplicate"
        if len(self._events) >= self._limit:
            return "full"
        self._events[event.id] = event
        self._known[event.id] = None
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return "added"

    async def pending(self) -> list[ExternalEvent]:
        """What waits, oldest first."""
        return list(self._events.values())

    async def remove(self, ids: Iterable[str]) -> None:
        """Forget events; their ids stay known."""
        for event_id in ids:
            self._events.pop(event_id, None)
