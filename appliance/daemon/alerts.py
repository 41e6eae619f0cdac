"""Rings timers: says which one is due, again and again, until somebody dismisses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from agents.base.backoff import Backoff
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.everyday.phrases import pick, spoken_duration
from agents.everyday.timers import TimerBook, TimerDue
from audio.events import UserTurn

log = structlog.get_logger(__name__)

REPEAT_S = 8.0
"""Silence between two rings, in seconds: long enough to say "stop"."""


class Announcer(Protocol):
    """What alerts need of a voice session."""

    events: Emitter

    async def announce(self, text: str, *, urgent: bool = False, wanted: Callable[[], bool] = ...) -> None:
        """Speak ``text`` as soon as nobody is busy, if it is ``wanted`` then; what is urgent does not wait for long."""
        ...


class Alerts:
    """Speaks due timers into a session.

    Args:
        voice: the session.
        timers: emits ``TimerDue`` and knows what still rings.
        language: BCP-47 primary tag used until the user has said something.
    """

    def __init__(self, voice: Announcer, timers: TimerBook, language: str) -> None:
        self._voice = voice
        self._timers = timers
        self._language = language
        self._due = asyncio.Event()
        self._scope = Scope("alerts")
        self._off = [
            timers.events.on(TimerDue, lambda _: self._due.set()),
            voice.events.on(UserTurn, self._note_language),
        ]

    def start(self) -> None:
        """Begin to ring. Timers that were due before ring at once."""
        if self._timers.ringing():
            self._due.set()
        self._scope.supervise(self._run, "ring", Backoff())

    async def close(self) -> None:
        """Fall silent; what rings goes on ringing in the next session. Idempotent."""
        for off in self._off:
            off()
        await self._scope.close()

    def _note_language(self, turn: UserTurn) -> None:
        self._language = turn.language

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            while ringing := self._timers.ringing():
                for timer in ringing:
                    await self._ring(timer)
                await asyncio.sleep(REPEAT_S)

    async def _ring(self, timer: TimerDue) -> None:
        try:
            # It may be silenced while another one rings, or while the user who silences it is being answered.
            await self._voice.announce(
                alert_text(timer, self._language), urgent=True, wanted=lambda: timer in self._timers.ringing()
            )
        except GloveError as fault:
            log.error("a timer could not be announced", code=fault.code, error=fault.message)


def alert_text(timer: TimerDue, language: str) -> str:
    """What is said when ``timer`` is due, in English or German."""
    length = spoken_duration(timer.seconds, language)
    if timer.kind == "alarm":
        what = pick(language, en="your alarm", de="dein Wecker")
    elif timer.name:
        what = pick(language, en=f"your {timer.name} timer", de=f"dein {timer.name}-Timer")
    else:
        what = pick(language, en=f"your timer for {length}", de=f"dein Timer über {length}")
    if timer.missed:
        late = spoken_duration(timer.late_s, language)
        return pick(
            language,
            en=f"While I was off, {what} was due, {late} ago.",
            de=f"Während ich aus war, ist {what} abgelaufen, vor {late}.",
        )
    what = what[0].upper() + what[1:]
    return pick(language, en=f"{what} is ringing.", de=f"{what} klingelt.")
