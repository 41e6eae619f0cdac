"""Synchronous, ordered events: each event is a frozen dataclass, a listener subscribes to its class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import structlog

log = structlog.get_logger(__name__)
E = TypeVar("E")


class _Listener:
    """One registration. Its identity, not its content, is what ``off`` removes."""

    __slots__ = ("active", "call", "kind")

    def __init__(self, kind: type[Any], call: Callable[[Any], None]) -> None:
        self.kind = kind
        self.call = call
        self.active = True


class Emitter:
    """Delivers events to listeners in the order of their registration, inside ``emit``.

    A listener of a base class receives its subclasses too. An exception in a listener is logged and counted in
    ``faults``; the remaining listeners still run. A listener that is removed during ``emit`` is not called any more;
    one that is added waits for the next event.
    """

    def __init__(self) -> None:
        self._listeners: list[_Listener] = []
        self.faults = 0

    def on(self, kind: type[E], listener: Callable[[E], None]) -> Callable[[], None]:
        """Call ``listener`` with each event of ``kind``. Returns an unsubscribe function (idempotent)."""
        entry = _Listener(kind, listener)
        self._listeners.append(entry)

        def off() -> None:
            if entry.active:
                entry.active = False
                self._listeners.remove(entry)

        return off

    def emit(self, event: object) -> None:
        """Deliver ``event`` to every listener of its class, in order."""
        for listener in tuple(self._listeners):
            if listener.active and isinstance(event, listener.kind):
                try:
                    listener.call(event)
                except Exception:
                    self.faults += 1
                    log.exception("event listener failed", event_type=type(event).__name__)

    def queue(self, kind: type[E], maxsize: int = 256) -> EventQueue[E]:
        """A bounded queue that receives each event of ``kind``; the oldest is dropped and counted when full."""
        return EventQueue(self, kind, maxsize)

    @property
    def listener_count(self) -> int:
        """How many listeners are registered (leak checks ask)."""
        return len(self._listeners)


class EventQueue(asyncio.Queue[E]):
    """A consumer's own bounded queue of events. ``dropped`` counts what did not fit; ``close`` unsubscribes."""

    def __init__(self, emitter: Emitter, kind: type[E], maxsize: int) -> None:
        super().__init__(maxsize)
        self.dropped = 0
        self._off = emitter.on(kind, self._accept)

    def _accept(self, event: E) -> None:
        if self.full():
            self.get_nowait()
            self.dropped += 1
        self.put_nowait(event)

    def close(self) -> None:
        """Stop receiving."""
        self._off()
