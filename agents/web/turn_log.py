"""What a running turn has brought so far, for those who come in the middle of it."""

from __future__ import annotations

from collections import deque

from agents.web.wire import Event

MAX_EVENTS = 1000
"""Pieces of text that follow each other count as one."""


class TurnLog:
    """The events of the turn that runs, oldest first; the oldest are forgotten when there are too many."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._text: list[str] | None = None

    @property
    def events(self) -> list[Event]:
        """A copy, with the text of one reply in one piece."""
        self._join()
        return [dict(event) for event in self._events]

    def add(self, event: Event, *, delta: bool = False) -> None:
        """Add ``event``; a ``delta`` goes on with the text of the one before if they belong together."""
        if delta and self._text is not None and self._events[-1].get("reply_id") == event.get("reply_id"):
            self._text.append(event["text"])
            return
        self._join()
        self._events.append(dict(event))
        self._text = [event["text"]] if delta else None

    def clear(self) -> None:
        """Forget everything."""
        self._events.clear()
        self._text = None

    def _join(self) -> None:
        if self._text is not None:
            self._events[-1]["text"] = "".join(self._text)
