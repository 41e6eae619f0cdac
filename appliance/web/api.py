"""The page, its rooms and the control API over HTTP: own files, own addresses, and rooms for visitors only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from agents.base.errors import GloveError
from agents.web.refusals import reply
from agents.web.routes import web_routes
from appliance.web.auth import COOKIE, Access, Door, LoopbackDoor, Visitor
from appliance.web.call_api import CallDesk
from appliance.web.guard import Guard
from appliance.web.operations import Operation, description, refused, routes
from appliance.web.page_socket import PageSocket
from appliance.web.pages import Asset, load_assets
from appliance.web.room_api import API, SOCKET, ConversationIn, Elsewhere, RoomDesk, usable
from appliance.web.room_book import RoomBook
from appliance.web.server import ApiServer, serve
from realtime.browser.desk import LINGER_S, BrowserRoom, OpenSession

__all__ = ["API", "ApiServer", "make_app", "page_app", "serve"]

log = structlog.get_logger(__name__)

LOGIN_BYTES = 1024
LOGIN_S = 10.0

BEHIND_COOKIE = (SOCKET, API)
"""Cookies ignore ports: narrow paths keep other servers on this machine from being sent them."""

PAGES = {"/": "index.html"}
"""Addresses of pages that every door shows; the other HTML files belong to one door."""

Health = Callable[[], Mapping[str, Any]]


def make_app(
    open_session: OpenSession,
    token: str,
    *,
    hosts: Iterable[str] = (),
    health: Health = dict,
    assistant_name: str = "Glove",
    linger_s: float = LINGER_S,
    chat: ASGIApp | None = None,
) -> Starlette:
    """The application of this machine alone. ``app.state.room`` is the page's ``BrowserRoom``, ``app.state.rooms`` all
    of them; ``ApiServer.close`` closes them.

    Args:
        open_session: makes a session in a room, when its first caller comes.
        token: who has it may speak; see ``appliance.web.auth.new_token``.
        hosts: names besides the loopback ones under which the page is reached.
        health: further facts for ``/health``; no secrets, anybody on this machine may read them.
        assistant_name: how the page calls the agent.
        linger_s: seconds that a session outlives its caller.
        chat: a model proxy for programs and pages, behind the same token.
    """
    rooms = RoomBook(lambda _, sound: open_session(sound), assistant_name=assistant_name, linger_s=linger_s)
    return local_app(rooms, Access(token, hosts), health=health, chat=chat, closing=rooms.close)


def local_app(
    rooms: RoomBook,
    access: Access,
    *,
    closing: Callable[[], Awaitable[None]],
    health: Health = dict,
    operations: Sequence[Operation] = (),
    pages: Mapping[str, str] | None = None,
    beside: Sequence[BaseRoute] = (),
    **options: Any,
) -> Starlette:
    """The application at the loopback door, see ``page_app`` for the arguments.

    ``beside``: routes that this door alone has.
    """
    room = rooms.page.room

    def facts() -> Mapping[str, Any]:
        return {"room": {"state": room.state.value, "health": room.health.state}, **health()}

    login = _Login(access, load_assets()["index.html"])
    return page_app(
        rooms,
        LoopbackDoor(access),
        closing=closing,
        health=facts,
        operations=operations,
        pages=pages,
        first=[Route("/", login.page), Route("/login", login.exchange, methods=["POST"]), *beside],
        **options,
    )


def page_app(
    rooms: RoomBook,
    door: Door,
    *,
    closing: Callable[[], Awaitable[None]],
    health: Health = dict,
    chat: ASGIApp | None = None,
    elsewhere: Elsewhere = tuple,
    conversation: ConversationIn = lambda _: None,
    operations: Sequence[Operation] = (),
    pages: Mapping[str, str] | None = None,
    first: Sequence[BaseRoute] = (),
) -> Starlette:
    """The application behind ``door``.

    Args:
        rooms: the rooms, which may be those of other doors too.
        door: who may come in.
        closing: called first when the server closes.
        health: facts for ``/health``, which is open to anybody.
        chat: a model proxy.
        elsewhere: rooms that are only listed.
        conversation: which conversation goes on in a room.
        operations: of the control API, beside those on rooms.
        pages: HTML files of the page's folder by their addresses, beside the page itself.
        first: routes that come before the others.
    """
    endpoints = _Endpoints(door, rooms, health)
    desk = RoomDesk(rooms, door, elsewhere, conversation)
    table = (*desk.operations(), *CallDesk(rooms, door).operations(), *operations)
    document = description(table)
    shown = {**PAGES, **(pages or {})}
    assets = load_assets()

    async def describe(_: Request, __: None) -> Response:
        return reply(document)

    described = Operation("GET", f"{API}/openapi.json", "describe", "This document.", describe)

    def authorise(connection: HTTPConnection) -> bool:
        return door.visitor(connection) is not None

    app = Starlette(
        routes=[
            *first,
            *(Route(path, _static(assets[name])) for path, name in shown.items()),
            Route("/health", endpoints.health),
            WebSocketRoute(SOCKET, endpoints.room),
            WebSocketRoute(f"{SOCKET}/{{room_id}}", endpoints.room),
            *(Route(f"/{name}", _static(asset)) for name, asset in assets.items() if not name.endswith(".html")),
            *routes([*table, described], authorise),
            *web_routes(authorise, chat=chat, prefix=API, client_path="/client"),
        ],
        middleware=[Middleware(Guard, door=door)],
    )
    app.state.room = rooms.page.room
    app.state.rooms = rooms
    app.state.closing = closing
    return app


class _Login:
    """How a browser on this machine gets its cookie."""

    def __init__(self, access: Access, index: Asset) -> None:
        self._access = access
        self._index = index

    async def page(self, request: Request) -> Response:
        """The page; with ``?token=`` in the address, a cookie and an address without it."""
        token = request.query_params.get("token")
        if token is None:
            return self._index.response()
        if not self._access.knows(token):
            return PlainTextResponse("This address is not valid any more.", 403)
        response = RedirectResponse("./", 303)
        self._admit(response)
        return response

    async def exchange(self, request: Request) -> Response:
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
        for path in BEHIND_COOKIE:
            response.set_cookie(COOKIE, self._access.cookie, path=path, httponly=True, samesite="strict")


class _Endpoints:
    """What is behind each address that is not in the table of operations."""

    def __init__(self, door: Door, rooms: RoomBook, health: Health) -> None:
        self._door = door
        self._rooms = rooms
        self._health = health

    async def health(self, request: Request) -> Response:
        """That this answers, and further facts."""
        return JSONResponse({"ok": True, **self._health()})

    async def room(self, websocket: WebSocket) -> None:
        """The socket of a room."""
        try:
            visitor = self._door.visitor(websocket)
            if visitor is None:
                raise GloveError("ERR_FORBIDDEN", "The token is missing or not valid any more.")
            room = self._room_of(visitor, websocket.path_params.get("room_id"))
        except GloveError as fault:
            log.info("a socket was refused", code=fault.code, origin=ascii(websocket.headers.get("origin"))[:100])
            await websocket.send_denial_response(refused(fault))
            return
        await websocket.accept()
        await room.serve(PageSocket(websocket))

    def _room_of(self, visitor: Visitor, room_id: str | None) -> BrowserRoom:
        if room_id is None:
            return self._rooms.own(visitor.client, visitor.name).room
        return usable(self._rooms, room_id, visitor).room


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


def _static(asset: Asset) -> Callable[[Request], Response]:
    return lambda _: asset.response()
