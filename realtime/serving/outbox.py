"""Events on their way to a client that may read slowly."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

import structlog

from realtime.serving.contract import Line
from realtime.serving.items import new_id

log = structlog.get_logger(__name__)


class Outbox:
    """Sends events in order.

    ``put`` never waits, so that what belongs together is told together; whoever makes many waits for ``room``.

    Args:
        line: to the client.
        most: events that may wait before ``room`` makes its callers wait.
        reads_s: how long the client may take for one event.
    """

    def __init__(self, line: Line, most: int, reads_s: float) -> None:
        self._line = line
        self._most = most
        self._reads_s = reads_s
        self._waiting: deque[str] = deque()
        self._filled = asyncio.Event()
        self._sent = asyncio.Event()
        self._sending = False

    def put(self, event: dict[str, Any]) -> None:
        """Send ``event``, which gets an id."""
        self._waiting.append(json.dumps({"event_id": new_id("event"), **event}, ensure_ascii=False))
        self._filled.set()

    async def room(self, share: int = 1) -> None:
        """Wait until fewer than ``share`` times ``most`` events wait."""
        while len(self._waiting) >= share * self._most:
            self._sent.clear()
            await self._sent.wait()

    async def flushed(self) -> None:
        """Wait until everything is sent."""
        while self._waiting or self._sending:
            self._sent.clear()
            await self._sent.wait()

    async def run(self) -> None:
        """Send until cancelled. Raises ``ConnectionError`` where the client is gone, or does not read."""
        while True:
            while self._waiting:
                self._sending = True
                await self._send(self._waiting.popleft())
                self._sending = False
                self._sent.set()
            self._filled.clear()
            await self._filled.wait()

    async def _send(self, text: str) -> None:
        try:
            async with asyncio.timeout(self._reads_s):
                await self._line.send(text)
        except TimeoutError:
            log.info("a client does not read", waiting=len(self._waiting))
            raise ConnectionAbortedError("the client does not read") from None
