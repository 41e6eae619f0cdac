"""One connection to a Wyoming service: events out, events in, and what goes wrong by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from wyoming.event import Event

from agents.base.clock import real_time_work
from agents.base.errors import ConfigError
from audio.providers.socket import ConnectionEnded, ConnectionRefused
from audio.providers.wyoming.wire import FROM_SERVICES, WireFault, encoded, read_event

OPEN_S = 3.0
"""Longest time that opening a connection may take, in seconds: services are near."""

SEND_S = 5.0
"""Longest time that a service may leave what was sent to it unread, in seconds."""

CLOSE_S = 1.0


@dataclass(frozen=True)
class Address:
    """Where a service listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def address_of(url: str, key: str) -> Address:
    """The address that ``tcp://host:port`` names. Raises ``ConfigError`` (``ERR_WYOMING_URL``) that names ``key``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme != "tcp" or not host or not port:
        raise ConfigError(
            "ERR_WYOMING_URL", f"{key}: {url!r} is no address of a Wyoming service.", f'Set {key} = "tcp://host:port".'
        )
    return Address(host, port)


class Link:
    """An open connection.

    Args:
        reader: made with the line limit of ``FROM_SERVICES``.
        writer: of the same connection.
        waiting: put around every wait for the service.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting = waiting

    async def send(self, *events: Event) -> None:
        """Send ``events`` in order. Raises ``ConnectionEnded``, also where the service does not read."""
        try:
            for event in events:
                self._writer.write(encoded(event))
            with self._waiting():
                async with asyncio.timeout(SEND_S):
                    await self._writer.drain()
        except (OSError, TimeoutError) as fault:
            raise ConnectionEnded(reason=_named(fault)) from None

    async def receive(self) -> Event:
        """The next event. Raises ``ConnectionEnded``."""
        try:
            with self._waiting():
                event = await read_event(self._reader, FROM_SERVICES)
        except (OSError, WireFault) as fault:
            raise ConnectionEnded(reason=str(fault)) from None
        if event is None:
            raise ConnectionEnded(reason="the service hung up")
        return event

    async def close(self) -> None:
        """Close; idempotent; takes at most ``CLOSE_S``."""
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError), self._waiting():
            async with asyncio.timeout(CLOSE_S):
                await self._writer.wait_closed()


DialWyoming = Callable[[Address], Awaitable[Link]]
"""Opens a connection. Raises ``ConnectionRefused``."""


async def dial_wyoming(address: Address) -> Link:
    """Open a connection over the network. Raises ``ConnectionRefused``."""
    try:
        with real_time_work():
            async with asyncio.timeout(OPEN_S):
                reader, writer = await asyncio.open_connection(address.host, address.port, limit=FROM_SERVICES.line)
    except (OSError, TimeoutError) as fault:
        raise ConnectionRefused(None, _named(fault)) from None
    return Link(reader, writer, real_time_work)


def _named(fault: Exception) -> str:
    return "it does not answer" if isinstance(fault, TimeoutError) else type(fault).__name__
