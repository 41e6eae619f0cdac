"""A stand-in for Anam's API. It takes only requests of the shapes that Anam's libraries and its LiveKit plugin send."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

KEY = "anam-key-0123456789"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class VoiceDetection(Strict):
    silenceBeforeSessionEndSeconds: int = Field(le=7200)


class Persona(Strict):
    type: Literal["ephemeral"] | None = None
    name: str
    avatarId: str
    avatarModel: str | None = None
    llmId: Literal["CUSTOMER_CLIENT_V1"] | None = None
    enableAudioPassthrough: bool | None = None
    maxSessionLengthSeconds: int | None = None
    voiceDetectionOptions: VoiceDetection | None = None


class Environment(Strict):
    livekitUrl: str
    livekitToken: str


class NewSession(Strict):
    personaConfig: Persona
    environment: Environment | None = None


class AnamService:
    """Attributes: ``tokens``: what each session token is for; ``engines``: what was sent into rooms."""

    def __init__(self) -> None:
        self.tokens: dict[str, NewSession] = {}
        self.bodies: list[dict[str, Any]] = []
        self.engines: list[NewSession] = []
        self.refusals: list[int] = []
        self.app = Starlette(
            routes=[
                Route("/v1/auth/session-token", self._token, methods=["POST"]),
                Route("/v1/engine/session", self._engine, methods=["POST"]),
            ]
        )

    async def _token(self, request: Request) -> Response:
        if _bearer(request) != KEY:
            return JSONResponse({"error": "unauthorized"}, 401)
        if self.refusals:
            return JSONResponse({"error": f"refused for {KEY}"}, self.refusals.pop(0))
        session = await _read(request)
        if isinstance(session, Response):
            return session
        self.bodies.append(await request.json())
        token = f"session-token-{len(self.tokens) + 1:03}"
        self.tokens[token] = session
        return JSONResponse({"sessionToken": token})

    async def _engine(self, request: Request) -> Response:
        """With a session's token and nothing else, or, as the plugin does, with the key and the session itself."""
        bearer = _bearer(request)
        if bearer == KEY:
            session = await _read(request)
            if isinstance(session, Response):
                return session
        elif bearer in self.tokens and await request.json() == {}:
            session = self.tokens[bearer]
        else:
            return JSONResponse({"error": "unauthorized"}, 401)
        if session.environment is None or session.personaConfig.llmId is None:
            return JSONResponse({"error": "no room to join, or no model that leaves the talking to the client"}, 400)
        self.engines.append(session)
        return JSONResponse({"sessionId": f"s{len(self.engines):03}", "engineHost": "engine.anam.test"})


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


async def _read(request: Request) -> NewSession | Response:
    try:
        return NewSession.model_validate_json(await request.body())
    except ValidationError as fault:
        return JSONResponse({"message": str(fault)}, 400)
