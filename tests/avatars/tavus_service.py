"""A stand-in for Tavus's API. It takes only requests of the shapes that Tavus's own plugin for LiveKit sends."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

KEY = "tavus-key-0123456789"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Transport(Strict):
    transport_type: Literal["livekit"]


class Layers(Strict):
    transport: Transport


class NewPal(Strict):
    pal_name: str
    default_face_id: str
    pipeline_mode: Literal["echo"]
    layers: Layers | None = None


class LiveKitProperties(Strict):
    livekit_ws_url: str
    livekit_room_token: str


class NewConversation(Strict):
    pal_id: str
    face_id: str | None = None
    properties: LiveKitProperties | None = None
    conversation_name: str | None = None
    custom_greeting: Literal[""] | None = None


class TavusService:
    """Attributes: ``pals`` and ``conversations`` as they were asked for; ``refusals``: statuses for the next ones."""

    def __init__(self) -> None:
        self.pals: dict[str, NewPal] = {}
        self.conversations: dict[str, NewConversation] = {}
        self.bodies: list[dict[str, Any]] = []
        self.ended: list[str] = []
        self.refusals: list[int] = []
        self.wrapped_list = False
        self.app = Starlette(
            routes=[
                Route("/v2/pals", self._list_pals, methods=["GET"]),
                Route("/v2/pals", self._make_pal, methods=["POST"]),
                Route("/v2/conversations", self._begin, methods=["POST"]),
                Route("/v2/conversations/{name}/end", self._end, methods=["POST"]),
            ]
        )

    async def _list_pals(self, request: Request) -> Response:
        if (refusal := self._refuse(request)) is not None:
            return refusal
        pals = [{"pal_id": pal_id, "pal_name": pal.pal_name} for pal_id, pal in self.pals.items()]
        return JSONResponse({"data": pals} if self.wrapped_list else pals)

    async def _make_pal(self, request: Request) -> Response:
        if (refusal := self._refuse(request)) is not None:
            return refusal
        try:
            pal = NewPal.model_validate_json(await request.body())
        except ValidationError as fault:
            return _malformed(fault)
        pal_id = f"p{len(self.pals) + 1:03}"
        self.pals[pal_id] = pal
        return JSONResponse({"pal_id": pal_id, "pal_name": pal.pal_name})

    async def _begin(self, request: Request) -> Response:
        if (refusal := self._refuse(request)) is not None:
            return refusal
        try:
            conversation = NewConversation.model_validate_json(await request.body())
        except ValidationError as fault:
            return _malformed(fault)
        self.bodies.append(await request.json())
        name = f"c{len(self.conversations) + 1:03}"
        self.conversations[name] = conversation
        return JSONResponse(
            {"conversation_id": name, "conversation_url": f"https://tavus.daily.co/{name}", "status": "active"}
        )

    async def _end(self, request: Request) -> Response:
        if (refusal := self._refuse(request)) is not None:
            return refusal
        name = request.path_params["name"]
        if name not in self.conversations:
            return JSONResponse({"message": "no such conversation"}, 404)
        self.ended.append(name)
        return Response(status_code=200)

    def _refuse(self, request: Request) -> Response | None:
        if request.headers.get("x-api-key") != KEY:
            return JSONResponse({"message": "Invalid access token"}, 401)
        if self.refusals:
            status = self.refusals.pop(0)
            return JSONResponse({"message": f"refused with {status} for {KEY}"}, status)
        return None


def _malformed(fault: ValidationError) -> Response:
    return JSONResponse({"message": str(fault)}, 400)
