"""What everything that wraps an agent has to pass on: the agent as its callers see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from agents.base.abort import AbortToken
from agents.core.arrivals import Wake, WakeHandler
from agents.core.display import DisplayManager
from agents.core.events import Subscriber
from agents.core.external_event import Disposition, WhenIdle
from agents.core.messages import ContentPart, Delivery, Message
from agents.core.preparers import TurnPreparer
from agents.core.runtime_context import ContextProvider


@runtime_checkable
class Runnable(Protocol):
    """An agent that is ready to run; ``Glove`` is one once it is built, and documents the methods.

    A wrapper passes on every method with every option. One that loses ``delivery`` turns context that was to be saved
    into context that is read before each model call, without a word; ``runnable_conformance`` finds that out.
    """

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack."""
        ...

    async def process_request(
        self,
        request: str | Sequence[ContentPart] | Wake,
        abort: AbortToken | None = None,
        *,
        language: str | None = None,
        heard_reports: bool = False,
    ) -> Message:
        """Run one turn."""
        ...

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> bool:
        """Say what was really heard of a reply."""
        ...

    def add_subscriber(self, subscriber: Subscriber) -> object:
        """Deliver events to ``subscriber``."""
        ...

    def remove_subscriber(self, subscriber: Subscriber) -> object:
        """Undo one ``add_subscriber``."""
        ...

    def add_context_provider(
        self, provider: ContextProvider, *, delivery: Delivery = "iteration", key: str | None = None
    ) -> Callable[[], None]:
        """Let ``provider`` say what is true right now."""
        ...

    async def get_runtime_context(
        self, abort: AbortToken | None = None, delivery: Delivery | None = None
    ) -> list[Message]:
        """What the providers say now."""
        ...

    def add_turn_preparer(self, preparer: TurnPreparer) -> Callable[[], None]:
        """Call ``preparer`` before every turn."""
        ...

    async def emit_event(
        self,
        id: str,  # noqa: A002 - the name of the field on the wire
        source: str,
        kind: str,
        content: str | Sequence[ContentPart],
        when_idle: WhenIdle = "auto",
        expires_at: datetime | None = None,
    ) -> Disposition:
        """Tell the agent about something that happened outside the conversation."""
        ...

    def set_wake_handler(self, handler: WakeHandler | None) -> None:
        """Let ``handler`` run the turns that events start."""
        ...

    def notify_user_activity(self) -> None:
        """The user types or speaks right now."""
        ...
