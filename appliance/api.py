"""The page and its room over HTTP: own files only, own addresses only, and the room only with the token."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import socket
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from agents.base.errors import ConfigError, GloveError
from agents.web.routes import web_routes
from appliance.auth import COOKIE, Access
from appliance.connections import PatientProtocol
from appliance.pages import Asset, load_assets
from realtime.browser.desk import BrowserRoom, OpenSession
from realtime.browser.protocol import MAX_MESSAGE_BYTES

log = structlog.get_logger(__name__)

STOP_S = 2.0
"""How long requests may take to end when the server stops."""

LOGIN_BYTES = 1024
LOGIN_S = 10.0

API = "/api"
"""Where programs find what they may use."""

Health = Callable[[], Mapping[str, Any]]


def make_app(
    open_session: OpenSession,
    token: str,
    *,
    hosts: Iterable[str] = (),
    health: Health = dict,
    assistant_name: str = "Glove",
    linger_s: float | None = None,
    chat: ASGIApp | None = None,
) -> Starlette:
    """The application. ``app.state.room`` is its ``BrowserRoom``; ``ApiServer.close`` closes it.

    Args:
        open_session: makes a session in the room of the page, when its first caller comes.
        token: who has it may speak; see ``appliance.auth.new_token``.
        hosts: names besides the loopback ones under which the page is reached.
        health: further facts for ``/health``; no secrets, anybody on this machine may read them.
        assistant_name: how the page calls the agent.
        linger_s: seconds that a session outlives its caller; None takes the room's default.
        chat: a model proxy for programs and pages, behind the same token.
    """
    access = Access(token, hosts)
    limits = {} if linger_s is None else {"linger_s": linger_s}
    room = BrowserRoom(open_session, assistant_name=assistant_name, **limits)
    endpoints = _Endpoints(access, room, health, ["/room", API] if chat is not None else ["/room"])
    app = Starlette(
        routes=[
            Route("/", endpoints.page),
            Route("/health", endpoints.health),
            Route("/login", endpoints.login, methods=["POST"]),
            WebSocketRoute("/room", endpoints.room),
            *(Route(f"/{name}", _static(asset)) for name, asset in load_assets().items() if name != "index.html"),
            *web_routes(access.allows, chat=chat, prefix=API, client_path="/client"),
        ],
        middleware=[Middleware(_Guard, access=access)],
    )
    app.state.room = room
    return app


class _Endpoints:
    """What is behind each address."""

    def __init__(self, access: Access, room: BrowserRoom, health: Health, behind_cookie: Sequence[str]) -> None:
        self._access = access
        self._room = room
        self._health = health
        self._behind_cookie = behind_cookie
        self._index = load_assets()["index.html"]

    async def page(self, request: Request) -> Response:
        """The page; with ``?token=`` in the address, a cookie and an address without it."""
        token = request.query_params.get("token")
        if token is None:
            return _file(self._index)
        if not self._access.knows(token):
            return PlainTextResponse("This address is not valid any more.", 403)
        response = RedirectResponse("./", 303)
        self._admit(response)
        return response

    async def login(self, request: Request) -> Response:
        """Exchange the token, sent as ``{"token": …}``, for the cookie."""
        if not self._access.origin_allowed(request.headers.get("origin"), request.headers.get("host")):
            return PlainTextResponse("Only the page itself may do this.", 403)
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("JSON is expected.", 415)
        if not self._access.knows(await _token_in(request)):
            return PlainTextResponse("This token is not valid.", 403)
        response = Response(status_code=204)
        self._admit(response)
        return response

    def _admit(self, response: Response) -> None:
        # Cookies ignore ports: narrow paths keep other servers on this machine from being sent it.
        for path in self._behind_cookie:
            response.set_cookie(COOKIE, self._access.cookie, path=path, httponly=True, samesite="strict")

    async def health(self, request: Request) -> Response:
        """Whether the room works."""
        state = self._room.health
        facts = {"ok": True, "room": {"state": self._room.state.value, "health": state.state}, **self._health()}
        return JSONResponse(facts)

    async def room(self, websocket: WebSocket) -> None:
        """The room's socket."""
        headers = websocket.headers
        if not self._access.origin_allowed(headers.get("origin"), headers.get("host")):
            log.warning("a foreign page tried to reach the room", origin=ascii(headers.get("origin")))
            await _deny(websocket, "Only the page itself may do this.")
        elif not self._access.admitted(websocket.cookies, headers.get("authorization")):
            await _deny(websocket, "The token is missing or not valid any more.")
        else:
            await websocket.accept()
            await self._room.serve(_Socket(websocket))


async def _token_in(request: Request) -> str:
    body = b""
    try:
        async with asyncio.timeout(LOGIN_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LOGIN_BYTES:
                    return ""
    except (TimeoutError, ClientDisconnect):
        return ""
    try:
        token = json.loads(body)["token"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return token if isinstance(token, str) else ""


async def _deny(websocket: WebSocket, text: str) -> None:
    await websocket.send_denial_response(PlainTextResponse(text, 403))


class _Socket:
    """A starlette WebSocket as ``realtime.browser.caller.Socket``."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def receive(self) -> str | bytes | None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        return text if text is not None else message.get("bytes", b"")

    async def send(self, data: str | bytes) -> None:
        try:
            if isinstance(data, str):
                await self._websocket.send_text(data)
            else:
                await self._websocket.send_bytes(data)
        except (WebSocketDisconnect, RuntimeError) as fault:
            raise ConnectionError("the caller has gone") from fault

    async def close(self, code: int, reason: str) -> None:
        if self._websocket.application_state is WebSocketState.DISCONNECTED:
            return
        try:
            await self._websocket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError) as fault:
            raise ConnectionError("the caller has gone") from fault


def _static(asset: Asset) -> Callable[[Request], Response]:
    return lambda _: _file(asset)


def _file(asset: Asset) -> Response:
    return Response(asset.content, media_type=asset.media_type, headers={"cache-control": "no-cache"})


class _Guard:
    """Refuses foreign ``Host`` names before anything else happens, and adds the headers that protect the page."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host")
        if not self._access.host_allowed(host):
            log.warning("a request for a foreign host was refused", host=ascii(host))
            await self._refuse(scope, receive, send)
            return
        protection = _protection(host or "")

        async def protected(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                own = [header for header in message.get("headers", []) if header[0] not in protection]
                message["headers"] = [*own, *protection.items()]
            await send(message)

        await self._app(scope, receive, protected)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = PlainTextResponse("This machine is not known by that name.", 403)
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(response)
        else:
            await response(scope, receive, send)


def _protection(host: str) -> dict[bytes, bytes]:
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        b"content-security-policy": policy.encode(),
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
        b"cross-origin-resource-policy": b"same-origin",
        b"permissions-policy": b"microphone=(self), camera=(), geolocation=()",
    }


class _Server(uvicorn.Server):
    """Uvicorn inside somebody else's loop: signals are the daemon's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield


class ApiServer:
    """A server that listens. ``port`` is the real one where 0 was asked for."""

    def __init__(self, server: uvicorn.Server, room: BrowserRoom, listening: socket.socket) -> None:
        self._server = server
        self._room = room
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
        """Close the room, then the server; idempotent, and done within a few seconds."""
        await self._room.close()
        self._server.should_exit = True
        _, late = await asyncio.wait([self._task], timeout=2 * STOP_S)
        for task in late:
            task.cancel()
        if fault := _fault(self._task):
            log.error("the page's server failed", error=repr(fault))
        self._socket.close()


def _fault(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


async def serve(app: Starlette, host: str = "127.0.0.1", port: int = 8765) -> ApiServer:
    """Listen; returns when requests are answered.

    Raises:
        ConfigError: ``ERR_PAGE_PORT`` when the port is taken or not allowed, ``ERR_PAGE_HOST`` when ``host`` is no
            address of this machine. The message names the key.
    """
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=64,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=round(STOP_S),
    )
    server = ApiServer(_Server(config), app.state.room, listening)
    try:
        await server.started()
    except BaseException:
        await server.close()
        raise
    return server


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as fault:
        raise ConfigError("ERR_PAGE_HOST", f"page.host: {host!r} is no address.", "Use 127.0.0.1.", fault) from fault
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(64)
        listening.setblocking(False)
    except OSError as fault:
        listening.close()
        raise _unusable(host, port, fault) from fault
    return listening


def _unusable(host: str, port: int, fault: OSError) -> ConfigError:
    if fault.errno == errno.EADDRINUSE:
        return ConfigError(
            "ERR_PAGE_PORT",
            f"page.port: port {port} of {host} is in use by another program.",
            "End that program, or set page.port to another number.",
            fault,
        )
    if fault.errno == errno.EACCES:
        return ConfigError(
            "ERR_PAGE_PORT", f"page.port: port {port} is reserved.", "Set page.port to 1024 or above.", fault
        )
    return ConfigError(
        "ERR_PAGE_HOST", f"page.host: {host} cannot be used ({fault.strerror}).", "Set page.host to 127.0.0.1.", fault
    )
