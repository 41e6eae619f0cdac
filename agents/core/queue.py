"""One turn at a time, in order of arrival; a turn that waits can still be aborted."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator

from agents.base.abort import AbortToken


class TurnQueue:
    """Hands the floor to one holder after the other, first come first served.

    Everything that writes history takes the floor first, so turns never interleave their messages.
    """

    def __init__(self) -> None:
        self._busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def busy(self) -> bool:
        """Whether somebody has the floor."""
        return self._busy

    @property
    def waiting(self) -> int:
        """How many wait for the floor."""
        return len(self._waiting)

    @contextlib.asynccontextmanager
    async def floor(self, abort: AbortToken) -> AsyncGenerator[None]:
        """Wait for the floor and hold it. Raises ``Aborted`` when ``abort`` fires while waiting."""
        await self._acquire(abort)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, abort: AbortToken) -> None:
        abort.check()
        if not self._busy:
            self._busy = True
            return
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)

        def give_up() -> None:
            ticket.cancel()

        remove = abort.on_abort(give_up)
        try:
            await ticket
        except asyncio.CancelledError:
            if not ticket.cancelled():
                # Cancelled after the floor had been handed over: pass it on.
                self._release()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(ticket)
            current = asyncio.current_task()
            if abort.aborted and not (current is not None and current.cancelling()):
                abort.check()
            raise
        finally:
            remove()
        if abort.aborted:
            self._release()
            abort.check()

    def _release(self) -> None:
        while self._waiting:
            ticket = self._waiting.popleft()
            if not ticket.done():
                ticket.set_result(None)
                return
        self._busy = False
