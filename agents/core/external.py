"""How an agent deals with events from outside: what it decides about them, and how they are put to the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agents.core.event_format import format_events
from agents.core.event_queue import EventQueue, MemoryEventQueue
from agents.core.external_event import ExternalEvent
from agents.core.messages import ContentPart

USER_ACTIVITY_WINDOW_S = 30.0
"""How long after a sign of the user an event waits for their next message rather than waking the agent."""

DEFER_TIMEOUT_S = 60.0
"""How long a deferred event waits for a message before it wakes the agent after all."""


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
    formatter: Formatter = format_events
    user_activity_window_s: float = USER_ACTIVITY_WINDOW_S
    defer_timeout_s: float = DEFER_TIMEOUT_S
