"""Anam over HTTP: tokens of sessions, for a page or for a LiveKit room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, Field

from agents.base.credentials import Secret
from avatars.service import Service

BASE_URL = "https://api.anam.ai"

MAX_SILENCE_S = 7200
"""Anam ends a session in which nobody speaks. It never hears the user here, so the longest silence is asked for."""


@dataclass(frozen=True)
class AnamFace:
    """Which face.

    Attributes:
        avatar_id: Anam's id of the face.
        avatar_model: how it is animated; Anam's own choice when None.
        name: of the persona, in Anam's dashboard.
        max_session_s: the longest session, in seconds. The plan of an account may allow less.
        base_url: of the API.
    """

    avatar_id: str
    avatar_model: str | None = "cara-4"
    name: str = "glove-avatar"
    max_session_s: int = 3600
    base_url: str = BASE_URL


class _Token(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    token: str = Field(alias="sessionToken", min_length=1)


class AnamApi:
    """The requests that a face needs.

    Args:
        key: of the account.
        face: which face.
        transport: carries the requests; the network when None.
    """

    def __init__(self, key: Secret, face: AnamFace, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._key = key
        self._face = face
        self._service = Service("Anam", face.base_url, transport)

    async def page_token(self) -> Secret:
        """A token with which a page shows the face, and hands it sound. Raises ``AvatarError``."""
        persona = self._persona()
        if self._face.avatar_model is not None:
            persona["avatarModel"] = self._face.avatar_model
        return await self._token({"personaConfig": {**persona, "enableAudioPassthrough": True}})

    async def join_room(self, livekit_url: str, livekit_token: str) -> None:
        """Send the face into a LiveKit room. Raises ``AvatarError``."""
        token = await self._token(
            {
                "personaConfig": {**self._persona(), "llmId": "CUSTOMER_CLIENT_V1"},
                "environment": {"livekitUrl": livekit_url, "livekitToken": livekit_token},
            }
        )
        await self._service.tell("POST", "/v1/engine/session", _bearer(token), {})

    def _persona(self) -> dict[str, Any]:
        return {
            "name": self._face.name,
            "avatarId": self._face.avatar_id,
            "maxSessionLengthSeconds": self._face.max_session_s,
            "voiceDetectionOptions": {"silenceBeforeSessionEndSeconds": MAX_SILENCE_S},
        }

    async def _token(self, body: Mapping[str, Any]) -> Secret:
        answer = await self._service.ask("POST", "/v1/auth/session-token", _bearer(self._key), _Token, body)
        return Secret(answer.token)


def _bearer(secret: Secret) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret.reveal()}"}
