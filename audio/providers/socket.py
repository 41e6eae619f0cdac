"""A WebSocket connection as the adapters see it: three verbs, two faults. Tests put a connection of their own here."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from urllib.parse import urlsplit, urlunsplit

from agents.base.clock import real_time_work

Message = str | bytes

OPEN_S = 10.0
"""Longest time that a handshake may take, in seconds."""

CLOSE_S = 1.0
"""Longest wait for the peer's side of a close, in seconds."""

PONG_S = 20.0
"""Longest wait for the answer to a ping of the library, in seconds; then the connection counts as lost."""

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Longest message that is taken from a service."""


@dataclass(frozen=True)
class Target:
    """Where to connect. Neither part is ever logged: both may hold a secret."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class ConnectionRefused(Exception):
    """The handshake failed.

    Attributes:
        status: of the HTTP answer, or None where nobody answered.
        words: what the service said about it.
    """

    def __init__(self, status: int | None, words: str) -> None:
        super().__init__(f"status {status}: {words}")
        self.status = status
        self.words = words


class ConnectionEnded(Exception):
    """The connection is over. ``code`` and ``reason`` are those of the close frame (1006 without one)."""

    def __init__(self, code: int = 1006, reason: str = "") -> None:
        super().__init__(f"code {code}{f': {reason}' if reason else ''}")
        self.code = code
        self.reason = reason


class Connection(Protocol):
    """One open connection."""

    async def send(self, message: Message) -> None:
        """Send text or bytes. Raises ``ConnectionEnded``."""
        ...

    async def receive(self) -> Message:
        """The next message. Raises ``ConnectionEnded``."""
        ...

    async def close(self) -> None:
        """Close; idempotent; takes at most ``CLOSE_S``."""
        ...


class LiveConnection(Connection, Protocol):
    """A connection whose peer can be asked whether it is there."""

    async def ping(self) -> None:
        """Return when the peer has answered a ping, however long that takes. Raises ``ConnectionEnded``."""
        ...


Dial = Callable[[Target], Awaitable[Connection]]
"""Opens a connection. Raises ``ConnectionRefused``."""


async def dial(target: Target, *, pong_s: float | None = PONG_S) -> LiveConnection:
    """Open a connection over the network. Calls to this machine never go through a proxy.

    Args:
        target: where to.
        pong_s: longest wait for the answer to the pings that the library sends by itself; None leaves judging them to
            the caller.

    Raises:
        ConnectionRefused: nobody answered, or not with a connection.
    """
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI

    from agents.models.openai_compatible import is_loopback

    refused: ConnectionRefused
    try:
        with real_time_work():
            socket = await connect(
                target.url,
                additional_headers=dict(target.headers),
                open_timeout=OPEN_S,
                close_timeout=CLOSE_S,
                ping_timeout=pong_s,
                max_size=MAX_MESSAGE_BYTES,
                proxy=None if is_loopback(target.url) else True,
            )
        return _WebSocket(socket)
    except InvalidStatus as fault:
        body = bytes(fault.response.body or b"")[:500].decode("utf-8", "replace")
        refused = ConnectionRefused(fault.response.status_code, body)
    except (InvalidProxy, ImportError):
        # A scheme that is not known, or one whose package is not installed (SOCKS).
        refused = ConnectionRefused(None, "the proxy that the environment names cannot be used")
    except (InvalidURI, ValueError):
        # The library's message quotes the address, which may hold a token.
        refused = ConnectionRefused(None, f"{urlsplit(target.url).scheme or 'nothing'} is no address of a service")
    except (InvalidHandshake, OSError, TimeoutError, EOFError) as fault:
        refused = ConnectionRefused(None, type(fault).__name__)
    raise refused


def websocket_url(url: str) -> str:
    """``url`` with ws(s) for http(s), without a slash at its end."""
    parts = urlsplit(url)
    scheme = {"https": "wss", "http": "ws"}.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def json_object(message: Message) -> dict[str, Any]:
    """The JSON object in ``message``; empty if it is none."""
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


class _WebSocket:
    """A connection of the ``websockets`` library."""

    def __init__(self, socket: object) -> None:
        from websockets.asyncio.client import ClientConnection

        assert isinstance(socket, ClientConnection)
        self._socket = socket

    async def send(self, message: Message) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            with real_time_work():
                await self._socket.send(message)
        except ConnectionClosed as fault:
            raise _ended(fault) from None

    async def receive(self) -> Message:
        from websockets.exceptions import ConnectionClosed

        try:
            with real_time_work():
                return await self._socket.recv()
        except ConnectionClosed as fault:
            raise _ended(fault) from None

    async def ping(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await (await self._socket.ping())
        except ConnectionClosed as fault:
            raise _ended(fault) from None

    async def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError), real_time_work():
            await self._socket.close()


def _ended(fault: object) -> ConnectionEnded:
    frame = getattr(fault, "rcvd", None)
    return ConnectionEnded(frame.code, frame.reason) if frame is not None else ConnectionEnded()
