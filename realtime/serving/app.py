"""The addresses of the server: sessions over WebSockets, short-lived keys, and the name of the model."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Literal

import structlog
from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from realtime.serving.commands import message_of
from realtime.serving.contract import Engine
from realtime.serving.items import new_id
from realtime.serving.limits import DEFAULT, Limits
from realtime.serving.planning import check_texts
from realtime.serving.refusal import Refusal
from realtime.serving.session import Session
from realtime.serving.settings import SessionSettings, Wire, changed, checked
from realtime.serving.tickets import PROTOCOL, Tickets, protocols_of

log = structlog.get_logger(__name__)

MOST_BODY_BYTES = 1 << 20
TRY_LATER = 1013
POLICY = 1008

CLOSE_S = 1.0
"""How long a client may take to read that it is hung up on."""


class ExpiresAfter(Wire):
    """How long a short-lived key is good, from when it is made."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, Field(ge=10, le=7200)] = 600


class SecretWishes(Wire):
    """The body of a request for a short-lived key."""

    expires_after: ExpiresAfter = ExpiresAfter()
    session: dict[str, Any] = Field(default_factory=dict[str, Any])


class RealtimeServer:
    """Serves clients, so many at a time.

    Args:
        engine: hears, thinks and speaks for all of them.
        token: who knows it may come in; None for whatever program runs on this machine.
        most_sessions: at the same time; further clients are told to try later.
        limits: of one session.
    """

    def __init__(
        self, engine: Engine, token: str | None = None, *, most_sessions: int = 4, limits: Limits = DEFAULT
    ) -> None:
        self._engine = engine
        self._tickets = Tickets(token)
        self._most = most_sessions
        self._limits = limits
        self._serving: set[asyncio.Task[Any]] = set()

    @property
    def sessions(self) -> int:
        """How many clients are served now."""
        return len(self._serving)

    async def close(self) -> None:
        """End all sessions; idempotent."""
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    def app(self) -> Starlette:
        """The application; its ``state.closing`` is what a server calls before it closes."""
        app = Starlette(
            routes=[
                WebSocketRoute("/v1/realtime", self._realtime),
                Route("/v1/realtime/client_secrets", self._secret, methods=["POST"]),
                Route("/v1/models", self._models),
            ],
            exception_handlers={Refusal: _refused},
        )
        app.state.closing = self.close
        return app

    async def _realtime(self, socket: WebSocket) -> None:
        settings = self._tickets.admitted(socket)
        if settings is None:
            await socket.close(POLICY)  # before it is accepted, this is an answer of 403
            return
        offered = protocols_of(socket)
        await socket.accept(subprotocol=PROTOCOL if PROTOCOL in offered else None)
        line = SocketLine(socket)
        if self.sessions >= self._most:
            refusal = Refusal("too_many_sessions", f"{self._most} clients are served already.", kind="server_error")
            await line.refuse(refusal)
            return
        try:
            session = Session(line, self._engine, named(settings, socket.query_params.get("model")), self._limits)
        except Refusal as refusal:
            await line.refuse(refusal)
            return
        serving = asyncio.create_task(session.serve(), name=f"realtime session {session.id}")
        self._serving.add(serving)
        try:
            await asyncio.wait({serving})
        finally:
            serving.cancel()
            self._serving.discard(serving)
        if not serving.cancelled() and (fault := serving.exception()) is not None:
            log.error("a session failed", error=repr(fault), exc_info=fault)

    async def _secret(self, request: Request) -> JSONResponse:
        if not self._tickets.is_owner(request):
            return _unauthorised()
        wishes = checked(SecretWishes, message_of(await _body(request)))
        settings = changed(SessionSettings(), wishes.session)
        check_texts(settings.instructions, settings.tools, self._limits, "session")
        value, ticket = self._tickets.issue(settings, wishes.expires_after.seconds)
        told = settings.told(new_id("sess"), ticket.ends_at_s)
        return JSONResponse({"value": value, "expires_at": ticket.ends_at_s, "session": told})

    async def _models(self, request: Request) -> JSONResponse:
        if not self._tickets.is_owner(request):
            return _unauthorised()
        model = {"id": SessionSettings().model, "object": "model", "created": 0, "owned_by": "glove"}
        return JSONResponse({"object": "list", "data": [model]})


class SocketLine:
    """A ``Line`` over a WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> str | None:
        """See ``Line``."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        # Bytes are no message of this protocol; what they hold is refused like any other text that is no JSON.
        return text if isinstance(text, str) else ""

    async def send(self, text: str) -> None:
        """See ``Line``."""
        try:
            await self._socket.send_text(text)
        except (WebSocketDisconnect, RuntimeError) as fault:
            raise ConnectionResetError("the client hung up") from fault

    async def close(self, code: int, reason: str) -> None:
        """See ``Line``."""
        if self._socket.application_state is not WebSocketState.CONNECTED:
            return
        if self._socket.client_state is WebSocketState.DISCONNECTED:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._socket.close(code, reason[:120])
        except (WebSocketDisconnect, RuntimeError):
            log.debug("a client was gone before it was told")
        except TimeoutError:
            log.debug("a client does not read that it is hung up on")

    async def refuse(self, refusal: Refusal) -> None:
        """Say why there is no session, and hang up."""
        await self.send(json.dumps({"event_id": new_id("event"), **refusal.told()}))
        await self.close(TRY_LATER, refusal.code)


def named(settings: SessionSettings, model: str | None) -> SessionSettings:
    """``settings`` with the model that the client asks for by address: there is one here, whatever it is called.

    Raises ``Refusal`` for a name that is none.
    """
    return changed(settings, {"model": model}) if model else settings


async def _body(request: Request) -> str:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise Refusal("request_too_large", f"A body may have {MOST_BODY_BYTES} bytes.")
    return body.decode("utf-8", "replace") or "{}"


def _unauthorised() -> JSONResponse:
    return JSONResponse(Refusal("invalid_api_key", "The key is missing or wrong.").told(), 401)


async def _refused(_: Request, fault: Exception) -> JSONResponse:
    assert isinstance(fault, Refusal)
    return JSONResponse(fault.told(), 413 if fault.code == "request_too_large" else 400)
