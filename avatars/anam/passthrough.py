"""AnamPassthroughAdapter: a face of Anam in a page.

The page starts a session of Anam's own library with the view's token and without a microphone, opens one stream of the
agent's sound in it, and does what the courier's messages say. When Anam closes the connection, which the plan of an
account makes it do every few minutes, the page says so, and the host calls ``renew``.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import ClassVar

import httpx

from agents.base.credentials import Secret
from audio.pcm import Pcm, wire_bytes
from avatars.anam.api import AnamApi, AnamFace
from avatars.contract import AvatarView, SdkView
from avatars.courier import CHUNK_MS, Courier, CourierAvatar, Message
from avatars.unplayed import Utterance


class AnamPassthroughAdapter(CourierAvatar):
    """See the module.

    Args:
        key: of the account.
        face: which face.
        courier: carries messages to the page; there is no other way to the face.
        chunk_ms: how much sound goes into one message.
        transport: carries the requests; the network when None.
    """

    provider: ClassVar[str] = "anam"
    sound_rate_hz: ClassVar[int] = 16_000

    def __init__(
        self,
        key: Secret,
        face: AnamFace,
        courier: Courier,
        *,
        chunk_ms: int = CHUNK_MS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(courier, chunk_ms=chunk_ms)
        self._api = AnamApi(key, face, transport)

    async def _open(self) -> AvatarView:
        token = await self._api.page_token()
        return SdkView(token.reveal(), self.provider)

    async def _close(self) -> None:
        """The session belongs to the page, and ends with it."""

    def _sound_messages(self, utterance: Utterance, pcm: Pcm, *, last: bool) -> Sequence[Message]:
        messages: list[Message] = []
        if pcm.size:
            messages.append({"type": "audio_chunk", "audio": base64.b64encode(wire_bytes(pcm)).decode()})
        if last:
            messages.append({"type": "end_sequence"})
        return messages

    def _cut_message(self) -> Message:
        return {"type": "interrupt"}
