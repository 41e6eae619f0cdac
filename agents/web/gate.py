"""In front of every endpoint: who may ask, and how a fault is answered."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agents.base.errors import GloveError
from agents.web.refusals import internal, refusal

log = structlog.get_logger(__name__)

Authorise = Callable[[HTTPConnection], bool | Awaitable[bool]]
"""Whether a request may be answered.

It sees the path's parameters (``session_id``), so that it can tell whose session is asked for. False is answered with
401, a ``GloveError`` with its own status; anything else that it raises refuses too.
"""

Handler = Callable[[Request], Awaitable[Response]]


def allow_all(_: HTTPConnection) -> bool:
    """An ``Authorise`` for servers whose own middleware has checked already."""
    return True


class Gate:
    """An ASGI application that admits requests to another one.

    Args:
        app: what is behind the gate.
        authorise: who may pass.
    """

    def __init__(self, app: ASGIApp, authorise: Authorise) -> None:
        self._app = app
        self._authorise = authorise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        fault = await self._refused(HTTPConnection(scope))
        await (self._app if fault is None else refusal(fault))(scope, receive, send)

    async def _refused(self, connection: HTTPConnection) -> GloveError | None:
        try:
            verdict = self._authorise(connection)
            allowed = await verdict if inspect.isawaitable(verdict) else verdict
        except GloveError as fault:
            return fault
        except Exception:
            log.exception("authorisation failed; the request was refused", path=connection.url.path)
            return internal()
        return None if allowed else GloveError("ERR_UNAUTHORISED", "The token is missing or not valid.")


class Endpoint:
    """An ASGI application around a function of the request; its faults become JSON refusals.

    Args:
        handler: answers. What it raises of ``GloveError`` is told to the other side, other exceptions only to the log.
        methods: the HTTP methods that it takes.
    """

    def __init__(self, handler: Handler, *methods: str) -> None:
        self._handler = handler
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            log.debug("the caller left before its request had come")
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method not in self._methods:
            response = refusal(GloveError("ERR_METHOD", f"This address takes {' and '.join(self._methods)}."))
            response.headers["allow"] = ", ".join(self._methods)
            return response
        try:
            return await self._handler(request)
        except GloveError as fault:
            return refusal(fault)
        except ClientDisconnect:
            raise
        except Exception:
            log.exception("a request failed", path=request.url.path)
            return refusal(internal())
