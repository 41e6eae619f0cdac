"""Abort as a value: a token that is handed down and asked, not an error that is caught."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

from agents.base.errors import GloveError

log = structlog.get_logger(__name__)
T = TypeVar("T")

SETTLE_S = 1.0
"""How long aborted work may take to end before nobody waits for it any more, in seconds."""

_let_go: set[asyncio.Future[Any]] = set()


class Aborted(Exception):
    """Raised where work stops because its token was aborted. Never reported to the user as a fault."""

    def __init__(self, reason: str = "aborted") -> None:
        super().__init__(reason)
        self.reason = reason


class AbortToken:
    """Tells running work that nobody wants its result any more.

    Aborting is final and idempotent; callbacks run once, synchronously, in order of registration; one that
    raises is logged and does not keep the others from running.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def aborted(self) -> bool:
        """Whether ``abort`` was called."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why, or None while not aborted."""
        return self._reason

    def abort(self, reason: str = "aborted") -> None:
        """Stop whatever holds this token."""
        if self._reason is not None:
            return
        self._reason = reason
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                log.exception("abort callback failed", reason=reason)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once on abort (at once if already aborted). Returns an unsubscribe function."""
        if self.aborted:
            callback()
            return lambda: None
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def check(self) -> None:
        """Raise ``Aborted`` if the token was aborted."""
        if self._reason is not None:
            raise Aborted(self._reason)

    async def race(self, work: Awaitable[T]) -> T:
        """Await ``work``, but stop waiting and raise ``Aborted`` when the token is aborted.

        The work is then cancelled and awaited, so nothing is left running; what has not ended after ``SETTLE_S`` is let
        go. A ``CancelledError`` that came from the abort is translated here and nowhere else. Work that cancels itself
        raises ``GloveError`` (``ERR_STOPPED_ITSELF``): a cancellation would look as if it were meant for the caller.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        late: asyncio.Future[None] = loop.create_future()
        timers: list[asyncio.TimerHandle] = []

        def cancel() -> None:
            task.cancel()
            timers.append(loop.call_later(SETTLE_S, late.set_result, None))

        remove = self.on_abort(cancel)
        try:
            await asyncio.wait({task, late}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            let_go(task, "work that was cancelled")
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            remove()
            for timer in timers:
                timer.cancel()
        if not task.done():
            let_go(task, "work that was aborted")
            self.check()
        try:
            return task.result()
        except asyncio.CancelledError:
            self.check()
            raise GloveError("ERR_STOPPED_ITSELF", "Work that was waited for cancelled itself.", "Try again.") from None


def let_go(work: asyncio.Future[Any], what: str) -> None:
    """Let ``work`` that nobody waits for come to its end, but not out of sight: what it fails with is logged."""
    _let_go.add(work)

    def done(finished: asyncio.Future[Any]) -> None:
        _let_go.discard(finished)
        fault = None if finished.cancelled() else finished.exception()
        if fault is not None and not isinstance(fault, Aborted | asyncio.CancelledError):
            log.warning(f"{what} failed after it was given up", error=repr(fault))

    work.add_done_callback(done)
