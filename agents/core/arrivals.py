"""Where events from outside arrive: told at the next step of a running turn, or else waking the agent in good time."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, Protocol

import structlog

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.scope import Scope
from agents.core.activity import UserActivity
from agents.core.event_format import event_message, format_events
from agents.core.events import EventDropped, EventInjected, EventReceived, EventWakeFailed
from agents.core.external import Events, polite
from agents.core.external_event import Disposition, ExternalEvent
from agents.core.messages import Message, content_parts
from agents.core.model import Notify

log = structlog.get_logger(__name__)

WAKE_ATTEMPTS = 3
"""Wakes of one event that may fail before it only waits for the user's next message."""


class RunWake(Protocol):
    """Runs the turn of a wake; ``Glove.process_request`` does."""

    async def __call__(
        self, request: Wake, abort: AbortToken | None, *, language: str | None, heard_reports: bool
    ) -> Message:
        """Answer the events of the wake ``request``. Raises what a turn raises."""
        ...


class Wake:
    """A turn that events want to start; whoever handles it chooses the moment and calls ``run``.

    It takes whatever waits when it really begins. If a turn of the user came first and told the events, it ends at once
    with an empty message.

    Attributes:
        events: what led to it.
        text: what the model would read of them now.
    """

    def __init__(self, events: Sequence[ExternalEvent], text: str, arrivals: Arrivals, run: RunWake) -> None:
        self.events = tuple(events)
        self.text = text
        self._arrivals = arrivals
        self._run = run

    async def waiting(self) -> bool:
        """Whether there is still something to tell."""
        return await self._arrivals.waiting()

    async def run(
        self, abort: AbortToken | None = None, *, language: str | None = None, heard_reports: bool = False
    ) -> Message:
        """Run the turn, as ``Glove.process_request`` does. Returns the last agent message."""
        return await self._run(self, abort, language=language, heard_reports=heard_reports)


WakeHandler = Callable[[Wake], Awaitable[object]]
"""Runs a wake at a moment of its choosing, and returns when the turn is over."""


class Arrivals:
    """Takes events in and sees to it that each is told exactly once, or dropped with a reason.

    An event waits in the queue until a turn has written it down. While a turn runs it waits for that turn's next step;
    otherwise the policy lets it wake the agent or defers it. What a turn missed is decided about when the turn ends.

    Args:
        settings: queue, policy, format, times.
        busy: whether a turn is running or about to.
        notify: where the life of events is reported.
        run: runs the turn of a wake.
    """

    def __init__(self, settings: Events, *, busy: Callable[[], bool], notify: Notify, run: RunWake) -> None:
        self._settings = settings
        self._queue = settings.queue
        self._busy = busy
        self._notify = notify
        self._run = run
        self._handler: WakeHandler | None = None
        self._scope = Scope("events")
        self._deferred: dict[str, tuple[ExternalEvent, float]] = {}
        self._failed: dict[str, int] = {}
        self._waking = False
        self._timer: asyncio.TimerHandle | None = None
        self.activity = UserActivity(settings.user_activity_window_s)

    def handle_wakes(self, handler: WakeHandler | None) -> None:
        """Let ``handler`` run wakes; None runs them at once."""
        self._handler = handler

    async def emit(self, event: ExternalEvent) -> Disposition:
        """Take ``event`` in and say what becomes of it."""
        event = replace(event, received_at=event.received_at or clock.wall())
        if self._scope.closed or event.expired(clock.wall()):
            await self._tell_dropped(event, "closed" if self._scope.closed else "expired")
            return "dropped"
        match await self._queue.add(event):
            case "duplicate":
                return "duplicate"
            case "full":
                await self._tell_dropped(event, "full")
                return "dropped"
            case "added":
                await self._notify(EventReceived(event.id, event.source, event.kind))
        if self._busy() or all(event.id != waiting.id for waiting in await self._queue.pending()):
            return "queued"
        return await self._decide(event)

    async def waiting(self) -> bool:
        """Whether anything is left to tell."""
        return bool(await self._live())

    @contextlib.asynccontextmanager
    async def telling(self) -> AsyncGenerator[list[Message]]:
        """The message about everything that waits, or none; the events are told once the block has written it down.

        Whoever calls this has the floor.
        """
        events = await self._live()
        if not events:
            yield []
            return
        yield [self._message(events)]
        await self._remove(events)
        for event in events:
            await self._notify(EventInjected(event.id, event.source, event.kind))

    def turn_ended(self) -> None:
        """No turn is running any more: decide about what the last one missed."""
        if not self._scope.closed:
            # An empty context: a wake is nobody's nested turn.
            contextvars.Context().run(self._scope.spawn, self._sweep(), "sweep")

    async def close(self) -> None:
        """Stop waiting and waking; what the queue holds stays there. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        await self._scope.close()

    async def _live(self) -> list[ExternalEvent]:
        """What waits and is still of use, oldest first; the rest is dropped."""
        now = clock.wall()
        events = await self._queue.pending()
        gone = [event for event in events if event.expired(now)]
        await self._drop(gone, "expired")
        return [event for event in events if event not in gone]

    async def _decide(self, event: ExternalEvent) -> Disposition:
        match self._verdict(event):
            case "wake":
                self._wake()
                return "woke"
            case "defer":
                self._defer(event, self._settings.defer_timeout_s)
                return "deferred"
            case "drop":
                await self._drop([event], "policy")
                return "dropped"

    def _defer(self, event: ExternalEvent, wait_s: float) -> None:
        self._deferred[event.id] = (event, clock.now() + wait_s)
        self._arm()

    async def _sweep(self) -> None:
        """Decide about what nobody has decided about, and wake for what has waited long enough."""
        for event in await self._live():
            if self._busy() or self._waking:
                return  # whichever it is, its end comes back here
            _, deadline = self._deferred.get(event.id, (event, None))
            if deadline is None:
                await self._decide(event)
            elif clock.now() >= deadline:
                self._wake()
        self._arm()

    def _arm(self) -> None:
        """Come back when the next deferred event has waited long enough or has expired."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        delay_s = min((self._due_in_s(*deferred) for deferred in self._deferred.values()), default=math.inf)
        if delay_s < math.inf and not self._scope.closed:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, delay_s), self.turn_ended)

    def _due_in_s(self, event: ExternalEvent, deadline: float) -> float:
        expires_s = (event.expires_at - clock.wall()).total_seconds() if event.expires_at is not None else math.inf
        return min(deadline - clock.now(), expires_s)

    def _wake(self) -> None:
        if not self._waking and not self._scope.closed:
            self._waking = True
            contextvars.Context().run(self._scope.spawn, self._run_wake(), "wake")

    async def _run_wake(self) -> None:
        events, error = await self._live(), "nobody ran the turn"
        try:
            if events:
                wake = Wake(events, self._message(events).text, self, self._run)
                await (self._handler(wake) if self._handler is not None else wake.run())
        except Aborted as stopped:
            error = stopped.reason
        except Exception as fault:
            log.exception("a turn that events started has failed", events=[event.id for event in events])
            error = str(fault) or type(fault).__name__
            await self._tell_failed([event for event in events if event not in await self._live()], error, kept=False)
        finally:
            self._waking = False
        await self._defer_failed(events, error)
        await self._sweep()

    async def _defer_failed(self, events: Iterable[ExternalEvent], error: str) -> None:
        """Let events that the wake did not tell wait again, in the end without a limit."""
        live = await self._live()
        untold = [event for event in events if event in live]
        for event in untold:
            self._failed[event.id] = self._failed.get(event.id, 0) + 1
            again = self._failed[event.id] < WAKE_ATTEMPTS
            self._defer(event, self._settings.defer_timeout_s if again else math.inf)
        await self._tell_failed(untold, error, kept=True)

    def _verdict(self, event: ExternalEvent) -> Literal["wake", "defer", "drop"]:
        """What the policy says; one that fails must not cost the event, and the usual one stands in for it."""
        idle = self.activity.idle()
        try:
            verdict = self._settings.policy(event, idle)
            if verdict in ("wake", "defer", "drop"):
                return verdict
            log.error("the policy for events gave no verdict", event_id=event.id, verdict=repr(verdict))
        except Exception:
            log.exception("the policy for events failed", event_id=event.id)
        return polite(event, idle)

    def _message(self, events: Sequence[ExternalEvent]) -> Message:
        """What the model reads of ``events``; a formatter that fails would fail every turn while they wait."""
        try:
            formatted = self._settings.formatter(events)
            if not isinstance(formatted, str):
                formatted = content_parts(formatted, "What the formatter of events returned")
        except Exception:
            log.exception("the formatter of events failed", events=[event.id for event in events])
            formatted = format_events(events)
        return event_message(events, formatted)

    async def _drop(self, events: Sequence[ExternalEvent], reason: str) -> None:
        if events:
            await self._remove(events)
        for event in events:
            await self._tell_dropped(event, reason)

    async def _remove(self, events: Iterable[ExternalEvent]) -> None:
        ids = [event.id for event in events]
        await self._queue.remove(ids)
        for event_id in ids:
            self._deferred.pop(event_id, None)
            self._failed.pop(event_id, None)
        self._arm()

    async def _tell_dropped(self, event: ExternalEvent, reason: str) -> None:
        log.info("event dropped", event_id=event.id, source=event.source, kind=event.kind, reason=reason)
        await self._notify(EventDropped(event.id, event.source, event.kind, reason))

    async def _tell_failed(self, events: Iterable[ExternalEvent], error: str, *, kept: bool) -> None:
        for event in events:
            await self._notify(EventWakeFailed(event.id, event.source, event.kind, error, kept))
