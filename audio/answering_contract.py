"""What the agent's side of a session needs: of the mind that answers, and of the session that is told about it."""

from __future__ import annotations

from typing import Protocol

from agents.base.abort import AbortToken
from agents.core.display import DisplayManager
from agents.core.events import Subscriber
from audio.events import VoiceEvent


class SpokenAgent(Protocol):
    """What a voice session needs of an agent; ``agents.core.glove.Glove`` provides it."""

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack."""
        ...

    async def process_request(
        self, request: str, abort: AbortToken | None = None, *, language: str | None = None, heard_reports: bool = False
    ) -> object:
        """Answer one turn of the user."""
        ...

    def add_subscriber(self, subscriber: Subscriber) -> object:
        """Send events to ``subscriber``."""
        ...

    def remove_subscriber(self, subscriber: Subscriber) -> object:
        """Send no more events to ``subscriber``."""
        ...

    def notify_user_activity(self) -> None:
        """The user speaks right now."""
        ...

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> object:
        """Tell what was heard of a reply."""
        ...


class Ask(Protocol):
    """Has the agent produce a reply."""

    async def __call__(self, *, language: str | None = None, heard_reports: bool = False) -> object:
        """Run the turn. Raises what a turn raises."""
        ...


class EventTurn(Protocol):
    """A turn that the agent starts by itself; ``agents.core.arrivals.Wake.run`` is one."""

    async def __call__(
        self, abort: AbortToken | None = None, *, language: str | None = None, heard_reports: bool = False
    ) -> object:
        """Run the turn. Raises what a turn raises."""
        ...


class AnsweringHost(Protocol):
    """Whom the agent's side tells what it does. Calls are synchronous."""

    def emit(self, event: VoiceEvent) -> None:
        """Publish an event."""
        ...

    def reached(self, step: str, at: float) -> None:
        """The answer to a turn was ``asked`` for, or has its first ``text``, ``sentence`` or ``sound``."""
        ...

    def reply_began(self) -> None:
        """A reply is being prepared."""
        ...

    def reply_sounds(self) -> None:
        """Its first sample is played."""
        ...

    def reply_ended(self) -> None:
        """It was heard to its end, or cut."""
        ...
