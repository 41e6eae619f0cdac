"""``AvatarWire`` over a room of LiveKit's SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from avatars.livekit.protocol import REJECTED
from avatars.livekit.wire import ByteStream, OnCall, Presence

if TYPE_CHECKING:
    from livekit import rtc

_CHANGES = ("participant_connected", "participant_disconnected", "track_published", "track_unpublished", "reconnected")
_LOSSES = ("reconnecting", "disconnected")


class RoomWire:
    """See ``AvatarWire``. Whoever owns the room says when it is joined and when it is lost.

    Args:
        identity: of the face's participant.
        needs_picture: whether the face is there only once it has published a video track. Faces that are drawn from the
            first sound on publish none before.
    """

    def __init__(self, identity: str, *, needs_picture: bool = True) -> None:
        self._identity = identity
        self._needs_picture = needs_picture
        self._room: rtc.Room | None = None
        self._listeners: list[Callable[[Presence], None]] = []
        self._answers: dict[str, OnCall] = {}
        self._presence = Presence.UNKNOWN
        self._leave_room: Callable[[], None] | None = None

    @property
    def identity(self) -> str:
        """Of the face's participant."""
        return self._identity

    @property
    def presence(self) -> Presence:
        """As ``AvatarWire``."""
        return self._presence

    def joined(self, room: rtc.Room) -> None:
        """The agent is in ``room``, for the first time or again."""
        if room is not self._room:
            self.left()
            self._room = room
            self._leave_room = _listen(room, self._look, self._lost)
            for method in self._answers:
                self._register(room, method)
        self._look()

    def left(self) -> None:
        """The room is lost, or the agent has left it; idempotent."""
        if self._leave_room is not None:
            self._leave_room()
            self._leave_room = None
        self._room = None
        self._change(Presence.UNKNOWN)

    def on_presence(self, listener: Callable[[Presence], None]) -> Callable[[], None]:
        """As ``AvatarWire``."""
        self._listeners.append(listener)

        def off() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return off

    async def open_stream(self, topic: str, attributes: Mapping[str, str]) -> ByteStream:
        """As ``AvatarWire``. Raises ``ConnectionError`` outside of a room, and what the SDK raises."""
        writer = await self._participant().stream_bytes(
            f"AUDIO_{uuid4().hex[:12]}",
            topic=topic,
            attributes=dict(attributes),
            destination_identities=[self._identity],
        )
        return _RoomStream(writer)

    async def call(self, method: str, payload: str, timeout_s: float) -> str:
        """As ``AvatarWire``. Raises ``ConnectionError`` outside of a room, and what the SDK raises."""
        return await self._participant().perform_rpc(
            destination_identity=self._identity, method=method, payload=payload, response_timeout=timeout_s
        )

    def on_call(self, method: str, answer: OnCall) -> Callable[[], None]:
        """As ``AvatarWire``."""
        self._answers[method] = answer
        if self._room is not None:
            self._register(self._room, method)

        def off() -> None:
            if self._answers.get(method) is answer:
                del self._answers[method]

        return off

    def _register(self, room: rtc.Room, method: str) -> None:
        def answer(call: rtc.RpcInvocationData) -> str:
            answering = self._answers.get(method)
            return REJECTED if answering is None else answering(call.caller_identity, call.payload)

        room.local_participant.register_rpc_method(method, answer)

    def _participant(self) -> rtc.LocalParticipant:
        if self._room is None:
            raise ConnectionError("the agent is not in the room")
        return self._room.local_participant

    def _look(self) -> None:
        if self._room is not None:
            who = self._room.remote_participants.get(self._identity)
            here = who is not None and (not self._needs_picture or _shows_picture(who))
            self._change(Presence.HERE if here else Presence.AWAY)

    def _lost(self) -> None:
        self._change(Presence.UNKNOWN)

    def _change(self, presence: Presence) -> None:
        if presence is self._presence:
            return
        self._presence = presence
        for listener in tuple(self._listeners):
            listener(presence)


class _RoomStream:
    def __init__(self, writer: rtc.ByteStreamWriter) -> None:
        self._writer = writer
        self._closed = False

    async def write(self, data: bytes) -> None:
        await self._writer.write(data)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._writer.aclose()


def _shows_picture(who: rtc.RemoteParticipant) -> bool:
    from livekit import rtc

    return any(one.kind == rtc.TrackKind.KIND_VIDEO for one in who.track_publications.values())


def _listen(room: rtc.Room, look: Callable[[], None], lost: Callable[[], None]) -> Callable[[], None]:
    def changed(*_: object) -> None:
        look()

    def gone(*_: object) -> None:
        lost()

    handlers = [*((event, changed) for event in _CHANGES), *((event, gone) for event in _LOSSES)]
    for event, handler in handlers:
        room.on(cast("Any", event), handler)

    def off() -> None:
        for event, handler in handlers:
            room.off(cast("Any", event), handler)

    return off
