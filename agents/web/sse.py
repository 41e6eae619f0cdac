"""Server-sent events: frames, heartbeats, and an end when the reader leaves or stops reading.

Starlette's own streaming response notices a reader who has left only when it next writes, which may be never while a
model is silent; this one listens.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agents.base.errors import GloveError
from agents.web.refusals import fault_fields, refusal
from agents.web.wire import Event, failed_event, to_json

log = structlog.get_logger(__name__)

HEARTBEAT_S = 15.0
"""Silence after which a comment is sent, so that nobody in between takes the connection for dead."""

STALL_S = 60.0
"""How long one piece may take to be accepted; whoever reads nothing for so long has gone."""

HEADERS = {
    "cache-control": "no-cache, no-transform",
    "connection": "keep-alive",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}

COMMENT = b":\n\n"


def frame(event: Event) -> bytes:
    """One event. JSON escapes line breaks, so it is always a single line."""
    return b"data: " + to_json(event) + b"\n\n"


class EventStream(Response):
    """Sends events as they come; None among them is a comment.

    A ``GloveError`` that is raised before anything was sent becomes an HTTP status, a later one a failed ``done``. When
    the reader leaves, ``events`` is closed, with ``CancelledError`` inside it if it was at work.

    Args:
        events: what to send; it ends by itself.
        heartbeat_s: silence that a comment ends, in seconds.
        stall_s: longest time that the reader may take for one event, in seconds.
    """

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncGenerator[Event | None], *, heartbeat_s: float = HEARTBEAT_S, stall_s: float = STALL_S
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._events = events
        self._heartbeat_s = heartbeat_s
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the events end or the reader leaves."""
        writing = asyncio.create_task(self._write(scope, receive, send), name="event stream")
        leaving = asyncio.create_task(_left(receive), name="event stream reader")
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writing.cancel()
            leaving.cancel()
            await asyncio.wait({writing, leaving})
        if not writing.cancelled() and (fault := writing.exception()) is not None:
            raise fault

    async def _write(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened = False
        try:
            async with contextlib.aclosing(_with_heartbeats(self._events, self._heartbeat_s)) as events:
                async for event in events:
                    if not opened:
                        await self._open(send)
                        opened = True
                    await self._say(send, COMMENT if event is None else frame(event))
            if not opened:
                await self._open(send)
            await self._say(send, b"", more=False)
        except GloveError as fault:
            if opened:
                await self._say(send, frame(failed_event(fault_fields(fault))))
                await self._say(send, b"", more=False)
            else:
                await refusal(fault)(scope, receive, send)
        except TimeoutError:
            log.warning("a reader that takes nothing was dropped", stall_s=self._stall_s)
        except OSError:
            log.debug("the reader has gone")

    async def _open(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

    async def _say(self, send: Send, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._stall_s):
            await send({"type": "http.response.body", "body": body, "more_body": more})


async def _with_heartbeats(events: AsyncGenerator[Event | None], every_s: float) -> AsyncGenerator[Event | None]:
    """``events`` with None after each silence of ``every_s`` seconds; closes them at the end."""
    async with contextlib.aclosing(events):
        while True:
            upcoming = asyncio.ensure_future(_next(events))
            try:
                while not (await asyncio.wait({upcoming}, timeout=every_s))[0]:
                    yield None
                event = upcoming.result()
            except _Ended:
                return
            finally:
                upcoming.cancel()
                await asyncio.wait({upcoming})
            yield event


class _Ended(Exception):
    """Nothing more comes; a task cannot end with ``StopAsyncIteration``."""


async def _next(events: AsyncGenerator[Event | None]) -> Event | None:
    try:
        return await anext(events)
    except StopAsyncIteration:
        raise _Ended from None


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
