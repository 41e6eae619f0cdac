"""A server inside the daemon's loop that listens on one address."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Generator

import structlog
import uvicorn
from starlette.applications import Starlette

from agents.base.errors import ConfigError, GloveError
from appliance.web.connections import LimitedListener, PatientProtocol, PatientSocket
from realtime.browser.protocol import MAX_MESSAGE_BYTES

log = structlog.get_logger(__name__)

STOP_S = 2.0
"""How long requests may take to end when the server stops."""

HANDSHAKE_S = 5.0
"""How long a connection may take to agree on TLS."""

BACKLOG = 64


class _Server(uvicorn.Server):
    """Uvicorn inside somebody else's loop: signals are the daemon's."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on ``sockets``, with limits for what comes before the first request: the negotiation of TLS."""
        config, loop = self.config, asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return PatientProtocol(config, self.server_state, {})

        handshake_s, shutdown_s = (None, None) if config.ssl is None else (HANDSHAKE_S, STOP_S)
        self.servers = [
            await loop.create_server(
                protocol,
                sock=one,
                ssl=config.ssl,
                backlog=BACKLOG,
                ssl_handshake_timeout=handshake_s,
                ssl_shutdown_timeout=shutdown_s,
            )
            for one in sockets or ()
        ]
        self.started = True

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield


class ApiServer:
    """A server that listens. ``port`` is the real one where 0 was asked for."""

    def __init__(
        self, server: uvicorn.Server, closing: Callable[[], Awaitable[None]], listening: socket.socket
    ) -> None:
        self._server = server
        self._closing = closing
        self._socket = listening
        self._task = asyncio.create_task(server.serve([listening]), name="api server")
        self.host: str = listening.getsockname()[0]
        self.port: int = listening.getsockname()[1]

    def address(self, token: str) -> str:
        """Where people find the page, with the token."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/#token={token}"

    async def started(self) -> None:
        """Wait until requests are answered. Raises ``GloveError`` (``ERR_PAGE``) if that fails."""
        while not self._server.started:
            if self._task.done():
                raise GloveError("ERR_PAGE", "The page's server ended at once.", cause=_fault(self._task))
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Close the rooms that are the server's own, then the server; idempotent, and done within a few seconds."""
        await self._closing()
        self._server.should_exit = True
        _, late = await asyncio.wait([self._task], timeout=2 * STOP_S)
        for task in late:
            task.cancel()
        if fault := _fault(self._task):
            log.error("the page's server failed", error=repr(fault))
        self._socket.close()


def _fault(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


async def serve(
    app: Starlette,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    tls: ssl.SSLContext | None = None,
    message_bytes: int = MAX_MESSAGE_BYTES,
) -> ApiServer:
    """Listen; returns when requests are answered.

    Args:
        app: what is served; ``app.state.closing``, a coroutine function, is called first of all when the server closes.
        host: address or name of this machine to listen on.
        port: port; 0 takes a free one.
        tls: makes it https. A certificate that is loaded into it later holds for the connections that come then.
        message_bytes: longest message over a WebSocket.

    Raises:
        ConfigError: ``ERR_PAGE_PORT`` when the port is taken or not allowed, ``ERR_PAGE_HOST`` when ``host`` is no
            address of this machine. The message names the key.
    """
    listening = _listen(host, port, "page.port" if tls is None else "page.lan_port")

    def agreed(*_: object) -> ssl.SSLContext:
        assert tls is not None
        return tls

    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws=PatientSocket,
        ws_max_size=message_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=round(STOP_S),
        ssl_context_factory=None if tls is None else agreed,
    )
    server = ApiServer(_Server(config), app.state.closing, listening)
    try:
        await server.started()
    except BaseException:
        await server.close()
        raise
    return server


def _listen(host: str, port: int, key: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as fault:
        raise ConfigError("ERR_PAGE_HOST", f"page.host: {host!r} is no address.", "Use 127.0.0.1.", fault) from fault
    listening = LimitedListener(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as fault:
        listening.close()
        raise _unusable(host, port, key, fault) from fault
    return listening


def _unusable(host: str, port: int, key: str, fault: OSError) -> ConfigError:
    if fault.errno == errno.EADDRINUSE:
        return ConfigError(
            "ERR_PAGE_PORT",
            f"{key}: port {port} of {host} is in use by another program.",
            f"End that program, or set {key} to another number.",
            fault,
        )
    if fault.errno == errno.EACCES:
        return ConfigError("ERR_PAGE_PORT", f"{key}: port {port} is reserved.", f"Set {key} to 1024 or above.", fault)
    return ConfigError(
        "ERR_PAGE_HOST", f"page.host: {host} cannot be used ({fault.strerror}).", "Set page.host to 127.0.0.1.", fault
    )
