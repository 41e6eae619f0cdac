"""TavusLiveKitAvatar: a face of Tavus in a LiveKit room of one's own."""

from __future__ import annotations

from typing import ClassVar

import httpx

from agents.base.credentials import Secret
from avatars.livekit.session import ARRIVAL_S, LiveKitAvatar, MintToken
from avatars.livekit.wire import AvatarWire
from avatars.tavus.api import TavusApi, TavusFace

IDENTITY = "tavus-avatar-agent"
"""Of the face's participant."""


class TavusLiveKitAvatar(LiveKitAvatar):
    """See the module.

    Args:
        key: of the account.
        face: which face.
        wire: the room, as seen by the face.
        livekit_url: of the room's server, as Tavus and a page reach it.
        mint_token: makes the token with which the face joins.
        arrival_s: how long the face may take to come.
        transport: carries the requests; the network when None.
    """

    provider: ClassVar[str] = "tavus-livekit"

    def __init__(
        self,
        key: Secret,
        face: TavusFace,
        wire: AvatarWire,
        livekit_url: str,
        mint_token: MintToken,
        *,
        arrival_s: float = ARRIVAL_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(wire, livekit_url, mint_token, arrival_s=arrival_s)
        self._api = TavusApi(key, face, "livekit", transport)
        self._conversation_id: str | None = None

    async def _begin(self, livekit_url: str, token: str) -> None:
        begun = await self._api.begin({"livekit_ws_url": livekit_url, "livekit_room_token": token})
        self._conversation_id = begun.conversation_id

    async def _close(self) -> None:
        conversation_id, self._conversation_id = self._conversation_id, None
        if conversation_id is not None:
            await self._api.end(conversation_id)
