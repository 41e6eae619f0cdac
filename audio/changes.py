"""A signal that something of a session has changed, for those who wait until something holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Changes:
    """Wakes whoever waits for a condition each time that something may have made it true.

    Tell it of a change before or after making it: whoever waits looks only when the loop comes round.
    """

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        self._told.set()
        self._told.clear()  # those who wait now are woken all the same

    async def until(self, condition: Callable[[], bool], deadline: float | None = None) -> bool:
        """Wait until ``condition`` holds, but no longer than ``deadline`` (a time of ``agents.base.clock.now``).

        Returns whether it holds.
        """
        try:
            async with asyncio.timeout_at(deadline):
                while not condition():
                    await self._told.wait()
        except TimeoutError:
            return condition()
        return True
