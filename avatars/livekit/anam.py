"""AnamLiveKitAvatar: a face of Anam in a LiveKit room of one's own."""

from __future__ import annotations

from typing import ClassVar

import httpx

from agents.base.credentials import Secret
from avatars.anam.api import AnamApi, AnamFace
from avatars.livekit.session import ARRIVAL_S, LiveKitAvatar, MintToken
from avatars.livekit.wire import AvatarWire

IDENTITY = "anam-avatar-agent"
"""Of the face's participant."""


class AnamLiveKitAvatar(LiveKitAvatar):
    """See the module. Anam's session ends when the agent leaves the room, or by Anam's own limits.

    Args:
        key: of the account.
        face: which face.
        wire: the room, as seen by the face.
        livekit_url: of the room's server, as Anam and a page reach it.
        mint_token: makes the token with which the face joins.
        arrival_s: how long the face may take to come.
        transport: carries the requests; the network when None.
    """

    provider: ClassVar[str] = "anam-livekit"

    def __init__(
        self,
        key: Secret,
        face: AnamFace,
        wire: AvatarWire,
        livekit_url: str,
        mint_token: MintToken,
        *,
        arrival_s: float = ARRIVAL_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(wire, livekit_url, mint_token, arrival_s=arrival_s)
        self._api = AnamApi(key, face, transport)

    async def _begin(self, livekit_url: str, token: str) -> None:
        await self._api.join_room(livekit_url, token)

    async def _close(self) -> None:
        """Nothing ends a session of Anam from outside."""
