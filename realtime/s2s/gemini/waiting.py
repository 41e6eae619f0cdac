"""Messages that wait until the model is silent, since each one would end its answer."""

from __future__ import annotations

from collections import deque

import structlog

from realtime.s2s.contract import HistoryItem

log = structlog.get_logger(__name__)

MOST = 64
"""Messages that wait; the oldest is dropped first."""


class WaitingWords:
    """What waits, in order, and whether it is to be answered: once for all of it."""

    def __init__(self) -> None:
        self._items: deque[HistoryItem] = deque()
        self._respond = False

    def __bool__(self) -> bool:
        return bool(self._items) or self._respond

    def add(self, item: HistoryItem, *, respond: bool) -> None:
        """One more."""
        if len(self._items) == MOST:
            log.warning("message to the model dropped, too many wait")
            self._items.popleft()
        self._items.append(item)
        self._respond = self._respond or respond

    def ask(self) -> None:
        """An answer is wanted."""
        self._respond = True

    def be_silent(self) -> None:
        """No answer is wanted any more."""
        self._respond = False

    def take(self) -> tuple[tuple[HistoryItem, ...], bool]:
        """All of it, and whether it is to be answered."""
        taken = tuple(self._items), self._respond
        self._items.clear()
        self._respond = False
        return taken
