"""TavusEchoAdapter: a face of Tavus in a room of Tavus.

The page joins the room with Tavus's (Daily's) own library, without a camera and a microphone, and hands on the messages
of the courier as application messages to everybody in the room. The face hears only while a page is there.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import httpx

from agents.base.credentials import Secret
from audio.pcm import Pcm, wire_bytes
from avatars.contract import AvatarView, RoomView
from avatars.courier import CHUNK_MS, Courier, CourierAvatar, Message
from avatars.tavus.api import TavusApi, TavusConversation, TavusFace
from avatars.unplayed import Utterance


class TavusEchoAdapter(CourierAvatar):
    """See the module.

    Args:
        key: of the account.
        face: which face.
        courier: carries messages to the page; there is no other way to the face.
        chunk_ms: how much sound goes into one message.
        transport: carries the requests; the network when None.
    """

    provider: ClassVar[str] = "tavus"
    sound_rate_hz: ClassVar[int] = 24_000

    def __init__(
        self,
        key: Secret,
        face: TavusFace,
        courier: Courier,
        *,
        chunk_ms: int = CHUNK_MS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(courier, chunk_ms=chunk_ms)
        self._api = TavusApi(key, face, "daily", transport)
        self._conversation: TavusConversation | None = None

    async def _open(self) -> AvatarView:
        self._conversation = await self._api.begin()
        return RoomView(self._conversation.url, self.provider)

    async def _close(self) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            await self._api.end(conversation.conversation_id)

    def _sound_messages(self, utterance: Utterance, pcm: Pcm, *, last: bool) -> Sequence[Message]:
        properties = {
            "modality": "audio",
            "audio": base64.b64encode(wire_bytes(pcm)).decode(),
            "sample_rate": self.sound_rate_hz,
            "inference_id": f"inf-{utterance.number}",
            "done": last,
        }
        return [{**self._message("conversation.echo"), "properties": properties}]

    def _cut_message(self) -> Message:
        return self._message("conversation.interrupt")

    def _message(self, event_type: str) -> Mapping[str, Any]:
        assert self._conversation is not None, "messages are sent while a session stands"
        return {
            "message_type": "conversation",
            "event_type": event_type,
            "conversation_id": self._conversation.conversation_id,
        }
