"""The door of the Wyoming server: who may come in, and how many at a time.

The protocol has no passwords. So this machine alone is served, unless addresses are named that are let in as well;
everybody else is hung up on before anything is read.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections import Counter
from collections.abc import Sequence

import structlog

from agents.base.errors import ConfigError
from agents.base.scope import Scope
from appliance.wyoming.client import IDLE_S, READS_S, Client
from appliance.wyoming.contract import Lent
from audio.providers.wyoming.link import Address
from audio.providers.wyoming.wire import FROM_CLIENTS

log = structlog.get_logger(__name__)

MOST_CLIENTS = 16
"""Clients that are served at the same time."""

MOST_PER_ADDRESS = 8
"""The same for one address, so that one broken client does not keep the others out."""

CLOSE_S = 1.0


class WyomingServer:
    """Listens until it is closed.

    Args:
        lent: what clients can be served with.
        allow: addresses and networks (``192.168.1.0/24``) that may come in besides this machine itself.
        idle_s: how long a client may say nothing, in seconds.
        reads_s: how long it may leave what it is sent unread, in seconds.
    """

    def __init__(
        self, lent: Lent, allow: Sequence[str] = (), *, idle_s: float = IDLE_S, reads_s: float = READS_S
    ) -> None:
        self._lent = lent
        self._idle_s = idle_s
        self._reads_s = reads_s
        self._allowed = [ipaddress.ip_network(network, strict=False) for network in allow]
        self._scope = Scope("wyoming server")
        self._server: asyncio.Server | None = None
        self._clients: Counter[str] = Counter()

    @property
    def clients(self) -> int:
        """How many are served now."""
        return self._clients.total()

    async def open(self, address: Address) -> int:
        """Listen at ``address``; returns the port, which the system chooses for 0.

        Raises ``ConfigError`` (``ERR_WYOMING_PORT``) where that cannot be had.
        """
        try:
            self._server = await asyncio.start_server(
                self._came, address.host, address.port, limit=FROM_CLIENTS.line, backlog=MOST_CLIENTS
            )
        except OSError as fault:
            taken = fault.errno == errno.EADDRINUSE
            why = "is in use by another program" if taken else f"cannot be used ({fault.strerror or fault})"
            remedy = "End that program, or choose another port." if taken else "Use an address of this machine."
            raise ConfigError("ERR_WYOMING_PORT", f"wyoming.listen: {address} {why}.", remedy, fault) from fault
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Hang up on everybody; idempotent."""
        if self._server is not None:
            self._server.close()
        await self._scope.close(CLOSE_S)

    def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        host = str(peer[0]) if peer else ""
        if self._scope.closed or not self._may_come_in(host):
            writer.transport.abort()
            return
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._scope.spawn(self._serve(host, reader, writer), f"client {host}")

    def _may_come_in(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        if not address.is_loopback and not any(address in network for network in self._allowed):
            log.warning("a client was turned away: its address is not in wyoming.allow", address=host)
            return False
        if self.clients >= MOST_CLIENTS or self._clients[host] >= MOST_PER_ADDRESS:
            log.warning("a client was turned away: there are too many", address=host, clients=self.clients)
            return False
        self._clients[host] += 1
        return True

    async def _serve(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await Client(reader, writer, self._lent, idle_s=self._idle_s, reads_s=self._reads_s).serve()
        finally:
            self._clients[host] -= 1
            if not self._clients[host]:
                del self._clients[host]
