"""Connections of the page's server: whoever opens one has to ask for something."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

REQUEST_S = 10.0
"""How long a connection may take to bring a whole request line with its headers."""


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
