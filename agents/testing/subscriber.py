"""A subscriber that remembers everything, in order, and can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from agents.core.events import AgentEvent, TextDelta

E = TypeVar("E", bound=AgentEvent)

WAIT_LIMIT_S = 60.0
"""Longest wait for an event; on virtual time it costs nothing."""


class RecordingSubscriber:
    """Remembers all events of an agent.

    Args:
        on_event: called with each event as it arrives, for tests that act at that very moment.

    ``events`` holds all of them, oldest first.
    """

    def __init__(self, on_event: Callable[[AgentEvent], None] | None = None) -> None:
        self.events: list[AgentEvent] = []
        self._on_event = on_event
        self._arrived = asyncio.Event()

    async def record(self, event: AgentEvent) -> None:
        """See ``Subscriber``."""
        self.events.append(event)
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()
        if self._on_event is not None:
            self._on_event(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if isinstance(event, kind)]

    def only(self, kind: type[E]) -> E:
        """The one event of a kind. Raises ``AssertionError`` if there is none or more than one."""
        found = self.of(kind)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} events {kind.type} instead of one: {self.types}")
        return found[0]

    @property
    def types(self) -> list[str]:
        """The wire names of all events, oldest first, without the deltas of text."""
        return [event.type for event in self.events if not isinstance(event, TextDelta)]

    @property
    def text(self) -> str:
        """All deltas of text, joined."""
        return "".join(delta.text for delta in self.of(TextDelta))

    async def wait_for(
        self,
        kind: type[E],
        where: Callable[[E], Any] | None = None,
        *,
        since: int = 0,
        limit_s: float = WAIT_LIMIT_S,
    ) -> E:
        """Wait until an event has arrived; one that is here already counts.

        Args:
            kind: what is waited for.
            where: a condition that it must meet.
            since: how many of the oldest events do not count (``len(events)`` waits for a new one).
            limit_s: seconds after which waiting is given up.

        Raises:
            AssertionError: it did not arrive in time; the message names what did.
        """
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    for event in self.events[since:]:
                        if isinstance(event, kind) and (where is None or where(event)):
                            return event
                    since = len(self.events)
                    await self._arrived.wait()
        except TimeoutError:
            raise AssertionError(f"no event {kind.type} within {limit_s} s, only {self.types}") from None
