"""What a LiveKit server tells over HTTP. It signs each message with the API secret, and nothing else is believed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agents.base.errors import GloveError

if TYPE_CHECKING:
    from realtime.livekit.tokens import LiveKitAccess

log = structlog.get_logger(__name__)

PATH = "/livekit/webhook"
MOST_BYTES = 64 * 1024


@dataclass(frozen=True)
class RoomNews:
    """What a server told.

    Attributes:
        event: such as ``room_started``, ``participant_joined``, ``room_finished``.
        room: its name.
        by_person: whether it is about a participant who is neither an agent nor a recorder.
    """

    event: str
    room: str
    by_person: bool = False


def verified(access: LiveKitAccess, body: bytes, authorization: str) -> RoomNews:
    """What ``body`` says, if the server of ``access`` has signed it.

    Raises:
        GloveError: ``ERR_LIVEKIT_WEBHOOK``.
    """
    from livekit.api import TokenVerifier, WebhookReceiver

    receiver = WebhookReceiver(TokenVerifier(access.key, access.secret.reveal()))
    try:
        event = receiver.receive(body.decode(), authorization.removeprefix("Bearer "))
    except Exception as fault:  # the SDK raises nothing more precise for a hash that differs
        raise _refused(fault) from fault
    person = event.HasField("participant") and event.participant.kind in (0, 1, 3)
    return RoomNews(event.event, event.room.name, person)


def webhook_route(access: LiveKitAccess, on_news: Callable[[RoomNews], Awaitable[None]]) -> Route:
    """Where the server posts. ``on_news`` may raise ``GloveError``: the server is told that it was not possible."""

    async def receive(request: Request) -> Response:
        body = b""
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    return PlainTextResponse("too long", 413)
        except ClientDisconnect:
            return PlainTextResponse("broken off", 400)
        try:
            news = verified(access, body, request.headers.get("authorization", ""))
        except GloveError as fault:
            log.warning("a message that the LiveKit server did not sign was refused", error=repr(fault.cause))
            return PlainTextResponse("not signed by the server", 401)
        try:
            await on_news(news)
        except GloveError as fault:
            log.info("a call was not taken", room=news.room, code=fault.code)
            return PlainTextResponse(fault.code, 503)
        return Response(status_code=200)

    return Route(PATH, receive, methods=["POST"])


def _refused(fault: Exception) -> GloveError:
    return GloveError("ERR_LIVEKIT_WEBHOOK", "The message is not from the LiveKit server.", cause=fault)
