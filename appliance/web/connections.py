"""Connections of the page's server: there are only so many, and whoever opens one has to ask for something."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

REQUEST_S = 10.0
"""How long a connection may take to bring a whole request line with its headers."""


UNSENT_MS = 30_000
"""How long what was sent may wait for a peer that takes nothing; the kernel closes the connection then (RFC 5482)."""

MOST_UNSENT_BYTES = 256 * 1024
MOST_PIECES = 1024
"""Of a peer's WebSocket: what waits to be taken, beyond which its pings are not answered any more, and the pieces that
a message may come in."""

MOST_CONNECTIONS = 256
MOST_PER_PEER = 100
"""How many connections a listener has open at the same time, and how many of them with one address."""


class Counted(socket.socket):
    """An accepted connection that says when it is closed."""

    listener: LimitedListener | None = None
    peer = ""

    def close(self) -> None:
        """Close, and make room for another connection; idempotent."""
        super().close()
        if (listener := self.listener) is not None:
            self.listener = None
            listener.gone(self.peer)


class LimitedListener(socket.socket):
    """A listening socket that turns away connections over a limit, before anything is spent on them.

    What counts requests cannot count connections that are still agreeing on TLS.
    """

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._open: Counter[str] = Counter()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises ``ConnectionAbortedError``, which event loops pass over, for one too many."""
        accepted, address = super().accept()
        connection = Counted(self.family, self.type, self.proto, fileno=accepted.detach())
        peer = str(address[0])
        if self._open.total() >= MOST_CONNECTIONS or self._open[peer] >= MOST_PER_PEER:
            connection.close()
            raise ConnectionAbortedError("too many connections")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNSENT_MS)
        self._open[peer] += 1
        connection.listener, connection.peer = self, peer
        return connection, address

    def gone(self, peer: str) -> None:
        """A connection with ``peer`` was closed."""
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]


class PatientProtocol(H11Protocol):
    """HTTP on one connection, which is closed when no request comes.

    The number of connections is limited. Without this, a peer that opens them and says nothing (a laptop that went to
    sleep, a browser that connects ahead of time) would hold a place for ever, and a few dozen would lock everybody out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See ``asyncio.Protocol``."""
        super().connection_made(transport)
        self._expect(self.cycle)

    def _expect(self, last: object) -> None:
        self.loop.call_later(REQUEST_S, self._look, last)

    def _look(self, last: object) -> None:
        # Closed ones, and those that have become WebSockets, are not among the connections any more.
        if self not in self.connections:
            return
        cycle = cast("RequestResponseCycle | None", self.cycle)
        answered = cycle is None or cycle.response_complete
        if answered and cycle is last:
            self.transport.close()
        else:
            self._expect(cycle if answered else self)


class PatientSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose peer cannot have things kept without end: answers to pings that it does not take, and pieces
    of a message that never ends. The connection is given up without a word, for which there may be no room."""

    def handle_ping(self) -> None:
        """Answer a ping; the limit is far above what a reply that is not being read may leave behind."""
        if self.transport.is_closing():
            return
        super().handle_ping()
        if self.transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        """Take a further piece of a message; the bytes of all are limited, but empty ones have none."""
        super().handle_cont(event)
        if len(self.frames) > MOST_PIECES:
            self.transport.abort()
