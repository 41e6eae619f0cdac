"""In front of everything the page's server answers: foreign host names are refused, protective headers are added."""

from __future__ import annotations

import structlog
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from appliance.web.auth import Door

log = structlog.get_logger(__name__)

STARTS = ("http.response.start", "websocket.http.response.start")
"""Messages that begin an answer."""

MOST_TOLD = 20
"""Foreign names that are logged."""


class Guard:
    """Refuses foreign ``Host`` names before anything else happens, and adds the headers that protect the page.

    Args:
        app: what is guarded.
        door: knows the names, and the cookies that an answer shall carry.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door
        self._told: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host")
        if not self._door.host_allowed(host):
            self._tell(host)
            await _refuse(scope, receive, send)
            return
        protection = _protection(host or "")

        async def protected(message: Message) -> None:
            if message["type"] in STARTS:
                own = [header for header in message.get("headers", []) if header[0] not in protection]
                message["headers"] = [*own, *protection.items(), *self._cookies(scope)]
            elif message["type"] == "websocket.accept":
                message["headers"] = [*message.get("headers", []), *self._cookies(scope)]
            await send(message)

        await self._app(scope, receive, protected)

    def _tell(self, host: str | None) -> None:
        # Whoever can send one request can send a million: each name is told once, and not too many of them.
        name = ascii(host)[:100]
        if name not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(name)
            log.warning("requests for a foreign host are refused", host=name)

    def _cookies(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        return [(b"set-cookie", cookie.encode("latin-1")) for cookie in self._door.cookies(HTTPConnection(scope))]


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
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
