"""Abort as a value: a token that is handed down and asked, not an error that is caught."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

log = structlog.get_logger(__name__)
T = TypeVar("T")


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
        """Await ``work``, but stop waiting and raise ``Aborted`` as soon as the token is aborted.

        The work is cancelled and awaited, so nothing is left running; a ``CancelledError`` that came from the abort is
        translated here and nowhere else.
        """
        task = asyncio.ensure_future(work)

        def cancel() -> None:
            task.cancel()

        remove = self.on_abort(cancel)
        waiter = asyncio.current_task()
        cancels = waiter.cancelling() if waiter is not None else 0
        try:
            return await task
        except asyncio.CancelledError:
            from_outside = waiter is not None and waiter.cancelling() > cancels
            if self.aborted and not from_outside:
                raise Aborted(self._reason or "aborted") from None
            raise
        finally:
            remove()
