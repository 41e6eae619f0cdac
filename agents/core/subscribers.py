"""Delivery of agent events: awaited, in order, and never a danger to the agent."""

from __future__ import annotations

import asyncio

import structlog

from agents.base import clock
from agents.core.events import AgentEvent, Subscriber

log = structlog.get_logger(__name__)

SLOW_S = 0.05
"""A subscriber that takes longer than this to record one event is named in the log: it delays what is spoken."""

RECORD_LIMIT_S = 10.0
"""A subscriber that takes longer than this is stopped, and misses the rest of the event, so that the agent goes on."""


class Subscribers:
    """The subscribers of one agent.

    Each event is awaited at each subscriber, in order of registration, before the next event is delivered. A subscriber
    that fails, or takes longer than ``RECORD_LIMIT_S``, is logged and counted in ``faults``. Whoever has slow work to
    do keeps a queue of its own.
    """

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self.faults = 0

    def add(self, subscriber: Subscriber) -> None:
        """Deliver future events to ``subscriber``; adding it twice delivers twice."""
        self._subscribers.append(subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        """Undo one ``add``; unknown subscribers are ignored."""
        for index, known in enumerate(self._subscribers):
            if known is subscriber:
                del self._subscribers[index]
                return

    def __len__(self) -> int:
        return len(self._subscribers)

    async def emit(self, event: AgentEvent) -> None:
        """Deliver one event."""
        for subscriber in tuple(self._subscribers):
            started = clock.now()
            try:
                async with asyncio.timeout(RECORD_LIMIT_S):
                    await subscriber.record(event)
            except (Exception, asyncio.CancelledError) as fault:
                if isinstance(fault, asyncio.CancelledError) and _cancelled():
                    raise
                self.faults += 1
                log.exception("subscriber failed", subscriber=type(subscriber).__name__, event_type=event.type)
            if clock.now() - started > SLOW_S:
                log.warning("slow subscriber", subscriber=type(subscriber).__name__, event_type=event.type)


def _cancelled() -> bool:
    """Whether somebody wants the running task to end, rather than the subscriber having cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
