"""Timers and alarms that survive restarts and clocks that jump.

A timer of five minutes is due after five minutes of the monotonic clock, whatever happens to the wall clock meanwhile;
its wall time is only stored so that a restart finds it. An alarm for seven o'clock follows the wall clock.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from agents.base.backoff import Backoff
from agents.base.clock import now, wall
from agents.base.emitter import Emitter
from agents.base.errors import GloveError, InputError
from agents.base.scope import Scope
from agents.everyday.book import EverydayBook, TimerRow

log = structlog.get_logger(__name__)

LONGEST_S = 7 * 86_400.0
"""Timers longer than a week are refused."""

MOST_TIMERS = 100

_RECHECK_S = 30.0
_JUMP_S = 1.0


@dataclass(frozen=True)
class TimerDue:
    """A timer is due; it rings until ``TimerBook.dismiss``, in later processes too. ``missed`` when it was due before
    this process.

    ``late_s`` is how long ago it was due, in seconds (near zero except for missed ones).
    """

    id: str
    name: str | None
    kind: str
    seconds: float
    due: datetime
    missed: bool = False
    late_s: float = 0.0


@dataclass(frozen=True)
class TimerDismissed:
    """A ringing timer was silenced."""

    id: str
    name: str | None


@dataclass(frozen=True)
class RunningTimer:
    """A timer that has not rung. ``remaining_s`` was true when it was asked for."""

    id: str
    name: str | None
    kind: str
    seconds: float
    due: datetime
    remaining_s: float


@dataclass
class _Entry:
    row: TimerRow
    due_s: float | None  # monotonic; None for alarms, which follow the wall clock

    def remaining_s(self) -> float:
        if self.due_s is not None:
            return self.due_s - now()
        return (self.row.due - wall()).total_seconds()


class TimerBook:
    """Runs timers. Events (``TimerDue``, ``TimerDismissed``) go to ``events``.

    Args:
        book: where timers are stored.
        events: receives the events; a new emitter when None.
    """

    def __init__(self, book: EverydayBook, events: Emitter | None = None) -> None:
        self._book = book
        self.events = events or Emitter()
        self._entries: dict[str, _Entry] = {}
        self._ringing: dict[str, TimerDue] = {}
        self._changed = asyncio.Event()
        self._scope: Scope | None = None
        self._offset_s = 0.0
        self._forgetting: set[asyncio.Future[None]] = set()

    async def start(self) -> list[TimerDue]:
        """Load stored timers and run them. Those that became due while nothing ran are emitted and returned as missed.

        Raises ``GloveError`` when the stored timers cannot be read.
        """
        if self._scope is not None:
            return []
        self._offset_s = _wall_offset_s()
        missed: list[TimerDue] = []
        for row in await self._book.timers():
            remaining_s = (row.due - wall()).total_seconds()
            if remaining_s <= 0:
                missed.append(_event(row, missed=True, late_s=-remaining_s))
            else:
                self._entries[row.id] = _entry(row, remaining_s)
        self._scope = Scope("timers")
        self._scope.supervise(self._run, "waker", Backoff())
        for event in missed:
            self._ring(event)
        return missed

    async def close(self) -> None:
        """Stop running timers; they stay stored, also those that ring. Idempotent."""
        if self._forgetting:
            await asyncio.wait(self._forgetting)
        scope, self._scope = self._scope, None
        if scope is not None:
            await scope.close()
        self._entries.clear()
        self._ringing.clear()

    async def set_timer(self, seconds: float, name: str | None = None) -> RunningTimer:
        """Start a timer of ``seconds``.

        Raises:
            InputError: ``ERR_TIMER`` for a length that is not above zero and within a week, or too many timers.
        """
        if not 0 < seconds <= LONGEST_S:
            raise InputError("ERR_TIMER", "A timer runs for at least a second and at most a week.")
        return await self._add(TimerRow(_new_id(), name, "timer", wall() + timedelta(seconds=seconds), seconds))

    async def set_alarm(self, due: datetime, name: str | None = None) -> RunningTimer:
        """Ring at ``due`` (aware) by the wall clock.

        Raises:
            InputError: ``ERR_TIMER`` when ``due`` has passed or is more than a week away.
        """
        seconds = (due - wall()).total_seconds()
        if not 0 < seconds <= LONGEST_S:
            raise InputError("ERR_TIMER", "An alarm must be within the next week.")
        return await self._add(TimerRow(_new_id(), name, "alarm", due, seconds))

    async def change(self, timer_id: str, by_s: float) -> RunningTimer:
        """Lengthen (or, below zero, shorten) a running timer or alarm; it is due at once if nothing is left.

        Raises:
            InputError: ``ERR_TIMER`` when there is no such timer or it would run longer than a week.
            GloveError: it could not be stored; then it runs as before.
        """
        entry = self._entries.get(timer_id)
        if entry is None:
            raise InputError("ERR_TIMER", "There is no such timer.")
        remaining_s = entry.remaining_s() + by_s
        if remaining_s > LONGEST_S:
            raise InputError("ERR_TIMER", "A timer runs for at most a week.")
        row = replace(
            entry.row, due=wall() + timedelta(seconds=remaining_s), seconds=max(0.0, entry.row.seconds + by_s)
        )
        # In memory first: while it is being stored it may ring, be cancelled or be changed once more.
        changed = self._entries[timer_id] = _entry(row, remaining_s)
        self._changed.set()
        try:
            await self._book.save_timer(row)
        except GloveError:
            if self._entries.get(timer_id) is changed:
                self._entries[timer_id] = entry
                self._changed.set()
            raise
        return _running(changed)

    async def cancel(self, timer_id: str) -> bool:
        """Drop a timer that has not rung. False if there is none with that id."""
        if self._entries.pop(timer_id, None) is None:
            return False
        await self._book.delete_timer(timer_id)
        self._changed.set()
        return True

    def running(self) -> list[RunningTimer]:
        """Timers and alarms that have not rung, the next one due first."""
        return sorted(map(_running, self._entries.values()), key=lambda timer: timer.remaining_s)

    def ringing(self) -> list[TimerDue]:
        """Timers that rang and were not dismissed, oldest first."""
        return list(self._ringing.values())

    def dismiss(self, timer_id: str | None = None) -> list[TimerDue]:
        """Silence one ringing timer, or all; returns the silenced ones."""
        ids = list(self._ringing) if timer_id is None else [timer_id]
        silenced = [event for each in ids if (event := self._ringing.pop(each, None)) is not None]
        for event in silenced:
            self._forget(event.id)
            self.events.emit(TimerDismissed(event.id, event.name))
        return silenced

    async def _add(self, row: TimerRow) -> RunningTimer:
        if len(self._entries) + len(self._ringing) >= MOST_TIMERS:
            raise InputError("ERR_TIMER", f"There are already {MOST_TIMERS} timers.")
        asked = now()
        await self._book.save_timer(row)
        # The time that storing took counts: the user's five minutes began when they were asked for.
        entry = _entry(row, row.seconds - (now() - asked))
        self._entries[row.id] = entry
        self._changed.set()
        return _running(entry)

    async def _run(self) -> None:
        while True:
            await self._follow_wall_clock()
            for timer_id, entry in sorted(self._entries.items(), key=lambda item: item[1].remaining_s()):
                if entry.remaining_s() <= 0:
                    self._fire(timer_id)
            pending = [entry.remaining_s() for entry in self._entries.values()]
            self._changed.clear()
            try:
                async with asyncio.timeout(max(0.0, min([_RECHECK_S, *pending]))):
                    await self._changed.wait()
            except TimeoutError:
                continue  # the usual way to wake: something may be due

    def _fire(self, timer_id: str) -> None:
        """Ring. The timer stays stored until somebody silences it: a process that dies meanwhile must ring again."""
        entry = self._entries.pop(timer_id, None)
        if entry is not None:
            self._ring(_event(entry.row, late_s=max(0.0, -entry.remaining_s())))

    def _forget(self, timer_id: str) -> None:
        task = asyncio.ensure_future(self._stored(self._book.delete_timer(timer_id)))
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    def _ring(self, event: TimerDue) -> None:
        self._ringing[event.id] = event
        self.events.emit(event)

    async def _follow_wall_clock(self) -> None:
        """After a jump of the wall clock, store the timers' new wall times."""
        offset_s = _wall_offset_s()
        if abs(offset_s - self._offset_s) < _JUMP_S:
            return
        log.info("the wall clock jumped", by_s=round(offset_s - self._offset_s, 1))
        self._offset_s = offset_s
        for entry in list(self._entries.values()):
            if entry.due_s is not None:
                entry.row = replace(entry.row, due=wall() + timedelta(seconds=entry.remaining_s()))
                await self._stored(self._book.save_timer(entry.row))

    async def _stored(self, work: Awaitable[None]) -> None:
        """Await a write whose failure must not stop the timers that are in memory."""
        try:
            await work
        except GloveError as fault:
            log.error("a timer could not be stored", error=fault.message)


def _new_id() -> str:
    return f"timer_{uuid.uuid4().hex[:8]}"


def _wall_offset_s() -> float:
    return wall().timestamp() - now()


def _entry(row: TimerRow, remaining_s: float) -> _Entry:
    return _Entry(row, now() + remaining_s if row.kind == "timer" else None)


def _running(entry: _Entry) -> RunningTimer:
    row = entry.row
    return RunningTimer(row.id, row.name, row.kind, row.seconds, row.due, max(0.0, entry.remaining_s()))


def _event(row: TimerRow, *, missed: bool = False, late_s: float = 0.0) -> TimerDue:
    return TimerDue(row.id, row.name, row.kind, row.seconds, row.due, missed, late_s)
