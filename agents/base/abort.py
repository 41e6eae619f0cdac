"""Abort as a value: a token that is handed down and asked, not an error that is caught."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Aborted(Exception):  # noqa: N818 - an outcome, not an error
    """Raised where work stops because its token was aborted. Never reported to the user as a fault."""

    def __init__(self, reason: str = "aborted") -> None:
        super().__init__(reason)
        self.reason = reason


class AbortToken:
    """Tells running work that nobody wants its result any more.

    Aborting is final and idempotent; callbacks run once, synchronously, in order of registration.
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
            callback()

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
        self.check()
        task = asyncio.ensure_future(work)
        remove = self.on_abort(task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if self.aborted and task.done():
                raise Aborted(self._reason or "aborted") from None
            task.cancel()
            raise
        finally:
            remove()
