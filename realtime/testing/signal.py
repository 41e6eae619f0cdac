"""Waiting until something holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Signal:
    """Whoever waits looks again after each ``notify``."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Something has changed."""
        self._event.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Return once ``holds`` gives something true."""
        while not holds():
            self._event.clear()
            await self._event.wait()
