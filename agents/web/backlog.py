"""Events that wait, with the pieces of one reply's text joined: a burst of words is one event for whoever is late."""

from __future__ import annotations

from collections import deque

from agents.core.events import TextDelta
from agents.web.wire import Event


class Backlog:
    """Events in order. The objects that go in come out, except for text that was joined."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._pieces: list[str] = []

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> list[Event]:
        """All of them, oldest first."""
        self._join()
        return list(self._events)

    def add(self, event: Event) -> None:
        """Add one at the end."""
        is_text = event["type"] == TextDelta.type
        if is_text and self._pieces and self._events[-1].get("reply_id") == event.get("reply_id"):
            self._pieces.append(event["text"])
            return
        self._join()
        self._events.append(event)
        self._pieces = [event["text"]] if is_text else []

    def take(self) -> Event:
        """Remove the oldest and return it. Raises ``IndexError`` if there is none."""
        if len(self._events) == 1:
            self._join()
            self._pieces = []
        return self._events.popleft()

    def clear(self) -> None:
        """Forget everything."""
        self._events.clear()
        self._pieces = []

    def _join(self) -> None:
        if len(self._pieces) > 1:
            text = "".join(self._pieces)
            self._pieces = [text]
            self._events[-1] = {**self._events[-1], "text": text}
