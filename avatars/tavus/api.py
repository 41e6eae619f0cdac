"""Tavus over HTTP: the PAL that repeats what it is given, and conversations with it.

A *PAL* is what a conversation is with. One that echoes must have nothing but that: greetings and voices that somebody
gave it in the dashboard would be spoken by Tavus in another voice than the agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx
from pydantic import BaseModel, Field, RootModel

from agents.base.credentials import Secret
from avatars.contract import AvatarError
from avatars.service import Service

BASE_URL = "https://tavusapi.com"


@dataclass(frozen=True)
class TavusFace:
    """Which face.

    Attributes:
        face_id: Tavus's id of the face.
        pal_id: of a PAL that echoes; one is found or made when None.
        conversation_name: shown in Tavus's dashboard, or None.
        base_url: of the API.
    """

    face_id: str
    pal_id: str | None = None
    conversation_name: str | None = None
    base_url: str = BASE_URL


@dataclass(frozen=True)
class TavusConversation:
    """One that has begun: its id, and the address of its room."""

    conversation_id: str
    url: str


class _Pal(BaseModel):
    pal_id: str = Field(min_length=1)
    pal_name: str | None = None


class _PalList(BaseModel):
    data: list[_Pal]


class _Pals(RootModel[list[_Pal] | _PalList]):
    @property
    def all(self) -> list[_Pal]:
        return self.root if isinstance(self.root, list) else self.root.data


class _Conversation(BaseModel):
    conversation_id: str = Field(min_length=1)
    conversation_url: str = ""


class TavusApi:
    """The requests that a face needs.

    Args:
        key: of the account.
        face: which face.
        room: ``daily``, the room of Tavus, or ``livekit``, a room of one's own. Each needs a PAL of its own kind.
        transport: carries the requests; the network when None.
    """

    def __init__(
        self,
        key: Secret,
        face: TavusFace,
        room: Literal["daily", "livekit"],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._key = key
        self._face = face
        self._room = room
        self._service = Service("Tavus", face.base_url, transport)
        self._pal_id = face.pal_id

    @property
    def pal_name(self) -> str:
        """The name under which a PAL is looked for, and made."""
        return "glove-echo-pal" if self._room == "daily" else "glove-echo-livekit-pal"

    async def begin(self, properties: Mapping[str, Any] | None = None) -> TavusConversation:
        """Begin a conversation. Raises ``AvatarError``."""
        # An empty greeting is sent as well: without one Tavus greets of its own accord.
        body: dict[str, Any] = {
            "pal_id": await self._ensure_pal(),
            "face_id": self._face.face_id,
            "custom_greeting": "",
        }
        if self._face.conversation_name:
            body["conversation_name"] = self._face.conversation_name
        if properties is not None:
            body["properties"] = dict(properties)
        begun = await self._service.ask("POST", "/v2/conversations", self._headers, _Conversation, body)
        if self._room == "daily" and not begun.conversation_url:
            await self.end(begun.conversation_id)
            raise AvatarError(
                "ERR_AVATAR_CONNECTION",
                "Tavus began a conversation without a room.",
                "Use a PAL that is not made for LiveKit, or leave pal_id out.",
            )
        return TavusConversation(begun.conversation_id, begun.conversation_url)

    async def end(self, conversation_id: str) -> None:
        """End a conversation, so that its room and its costs end. Raises ``AvatarError``."""
        await self._service.tell("POST", f"/v2/conversations/{conversation_id}/end", self._headers)

    async def _ensure_pal(self) -> str:
        if self._pal_id is None:
            pals = await self._service.ask("GET", "/v2/pals", self._headers, _Pals)
            found = next((pal.pal_id for pal in pals.all if pal.pal_name == self.pal_name), None)
            self._pal_id = found or await self._make_pal()
        return self._pal_id

    async def _make_pal(self) -> str:
        body: dict[str, Any] = {
            "pal_name": self.pal_name,
            "default_face_id": self._face.face_id,
            "pipeline_mode": "echo",
        }
        if self._room == "livekit":
            body["layers"] = {"transport": {"transport_type": "livekit"}}
        made = await self._service.ask("POST", "/v2/pals", self._headers, _Pal, body)
        return made.pal_id

    @property
    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self._key.reveal()}
