"""Things that happen by themselves: what an event from outside is, where events wait, and who decides about them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, get_args

from agents.base.errors import GloveError
from agents.core.messages import ContentPart, content_parts, parts_text

WhenIdle = Literal["wake", "defer", "auto"]
Disposition = Literal["queued", "woke", "deferred", "dropped", "duplicate"]
"""What became of an event that was handed in."""

USER_ACTIVITY_WINDOW_S = 30.0
"""How long after a sign of the user an event waits for their next message rather than waking the agent."""

DEFER_TIMEOUT_S = 60.0
"""How long a deferred event waits for a message before it wakes the agent after all."""

QUEUE_LIMIT = 256
"""Events that may wait at the same time."""

REMEMBERED_IDS = 4096
"""Ids of earlier events that are still recognised as duplicates."""


LONGEST_NAME = 512
"""Longest id, source or kind of an event, in characters; ids are remembered."""


class BadEvent(GloveError, ValueError):
    """An event that nobody could take in."""

    def __init__(self, message: str) -> None:
        super().__init__("ERR_EVENT", message, "Mend the event and send it again.")

    def __reduce__(self) -> tuple[Any, ...]:
        return BadEvent, (self.message,)


@dataclass(frozen=True)
class ExternalEvent:
    """Something that happened outside the conversation.

    Attributes:
        id: chosen by the sender; the same id twice is one event.
        source: who tells, for example ``webhook:ci``.
        kind: what it is, for example ``build.finished``.
        content: text, or parts of text and media. Information, never instructions.
        when_idle: ``wake`` starts a turn, ``defer`` waits for the user's next message, ``auto`` lets the policy decide.
        expires_at: aware; from then on the event is of no use and is dropped.
        received_at: aware; when it was handed in.

    Raises:
        BadEvent: ``ERR_EVENT``, an id, source or kind that is empty or longer than ``LONGEST_NAME``, an unknown
            ``when_idle``, a time that is not aware.
        GloveError: ``ERR_CONTENT``.
    """

    id: str
    source: str
    kind: str
    content: str | Sequence[ContentPart]
    when_idle: WhenIdle = "auto"
    expires_at: datetime | None = None
    received_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("id", "source", "kind"):
            if not _is_name(getattr(self, name)):
                raise BadEvent(f"The {name} of an event is text of 1 to {LONGEST_NAME} characters.")
        if self.when_idle not in get_args(WhenIdle):
            raise BadEvent(f"An event can wait for {', '.join(get_args(WhenIdle))}, not for {self.when_idle!r}.")
        if not all(_is_aware(at) for at in (self.expires_at, self.received_at)):
            raise BadEvent("The times of an event are datetimes with a time zone.")
        if not isinstance(self.content, str):
            object.__setattr__(self, "content", content_parts(self.content, "The content of an event"))

    def expired(self, now: datetime) -> bool:
        """Whether it is of no use any more."""
        return self.expires_at is not None and now >= self.expires_at

    @property
    def text(self) -> str:
        """Its words, without media."""
        if isinstance(self.content, str):
            return self.content
        return parts_text(self.content)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME


def _is_aware(at: object) -> bool:
    return at is None or (isinstance(at, datetime) and at.utcoffset() is not None)


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


@dataclass(frozen=True)
class Idle:
    """What a policy knows when no turn is running.

    Attributes:
        user_active: whether there was a sign of the user within the activity window.
        since_activity_s: seconds since the last sign of the user; None if there was none yet.
    """

    user_active: bool
    since_activity_s: float | None


Policy = Callable[[ExternalEvent, Idle], Literal["wake", "defer", "drop"]]
"""Decides what an event does while no turn is running."""

Formatter = Callable[[Sequence[ExternalEvent]], str | list[ContentPart]]
"""Makes what the model reads of one or more events."""


def polite(event: ExternalEvent, idle: Idle) -> Literal["wake", "defer", "drop"]:
    """The default policy: do as the event says, and with ``auto`` do not interrupt a user who is active."""
    if event.when_idle != "auto":
        return event.when_idle
    return "defer" if idle.user_active else "wake"


def _default_formatter(events: Sequence[ExternalEvent]) -> str | list[ContentPart]:
    from agents.core.event_format import format_events

    return format_events(events)


@dataclass(frozen=True)
class Events:
    """How an agent deals with events. The queue may pass to the agent of the next conversation once this one is closed.

    Attributes:
        queue: where they wait.
        policy: what they do while no turn is running.
        formatter: what the model reads of them.
        user_activity_window_s: how long a sign of the user counts, in seconds.
        defer_timeout_s: how long a deferred event waits for a message, in seconds.
    """

    queue: EventQueue = field(default_factory=MemoryEventQueue)
    policy: Policy = polite
    formatter: Formatter = _default_formatter
    user_activity_window_s: float = USER_ACTIVITY_WINDOW_S
    defer_timeout_s: float = DEFER_TIMEOUT_S
