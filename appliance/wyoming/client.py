"""One client of the Wyoming server, from its first event until it hangs up.

Sound is taken as it comes; what takes long is done one after the other beside that, so that a client that hangs up in
the middle of an answer is noticed, and the answer given up.
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from wyoming.error import Error
from wyoming.event import Event

from agents.base.errors import GloveError
from appliance.wyoming.contract import Job, Lent, Refused
from appliance.wyoming.requests import Requests
from audio.providers.wyoming.wire import FROM_CLIENTS, WireFault, encoded, read_event

log = structlog.get_logger(__name__)

IDLE_S = 300.0
"""A client that has sent no whole event for so long is hung up on."""

READS_S = 10.0
"""How long a client may leave what was sent to it unread, in seconds."""

MOST_JOBS = 4
"""Requests of one client that may wait; it is not read any further meanwhile."""


class Client:
    """Serves one connection.

    Args:
        reader: made with the line limit of ``FROM_CLIENTS``.
        writer: of the same connection.
        lent: what can be asked for.
        idle_s: see ``IDLE_S``.
        reads_s: see ``READS_S``.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lent: Lent,
        *,
        idle_s: float = IDLE_S,
        reads_s: float = READS_S,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._idle_s = idle_s
        self._reads_s = reads_s
        self._jobs: asyncio.Queue[Job] = asyncio.Queue(MOST_JOBS)
        self._requests = Requests(lent, self.send, self._jobs.put)

    async def serve(self) -> None:
        """Serve until the client hangs up, asks for too much, or does not read."""
        reading = asyncio.ensure_future(self._read())
        working = asyncio.ensure_future(self._work())
        try:
            done, _ = await asyncio.wait({reading, working}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await self._farewell(task.exception())
        finally:
            for task in (reading, working):
                task.cancel()
            await asyncio.wait({reading, working})
            self._requests.close()
            self._writer.close()

    async def send(self, event: Event) -> None:
        """See ``Send``."""
        self._writer.write(encoded(event))
        try:
            async with asyncio.timeout(self._reads_s):
                await self._writer.drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionAbortedError("the client does not read") from None

    async def _farewell(self, fault: BaseException | None) -> None:
        """Say why the connection ends, if that is the client's doing."""
        match fault:
            case None | ConnectionError():
                log.debug("a client hung up", reason=str(fault or ""))
            case Refused() | WireFault():
                log.info("a client was refused", reason=str(fault))
                with contextlib.suppress(ConnectionError):
                    await self.send(Error(text=str(fault), code="ERR_WYOMING_REQUEST").event())
            case _:
                log.error("a client could not be served", error=repr(fault), exc_info=fault)

    async def _read(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._idle_s):
                    event = await read_event(self._reader, FROM_CLIENTS)
            except TimeoutError:
                raise Refused("nothing was asked for too long") from None
            if event is None:
                return
            try:
                await self._requests.take(event)
            except GloveError as fault:
                await self._complain(fault)

    async def _work(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                await job(self.send)
            except GloveError as fault:
                await self._complain(fault)

    async def _complain(self, fault: GloveError) -> None:
        log.warning("a client's request failed", code=fault.code, error=fault.message)
        await self.send(Error(text=str(fault), code=fault.code).event())
