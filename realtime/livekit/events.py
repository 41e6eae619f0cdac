"""What a LiveKit transport tells. Listeners subscribe to a class; ``type`` is the event's wire name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from agents.base.errors import GloveError
from audio.pcm import Pcm


@dataclass(frozen=True)
class TransportEvent:
    """Base of the events of transports."""

    type: ClassVar[str] = "transport_event"


@dataclass(frozen=True)
class TransportConnected(TransportEvent):
    """The agent is in the room. ``again``: it was there before, and the connection was lost meanwhile."""

    type: ClassVar[str] = "connected"
    again: bool = False


@dataclass(frozen=True)
class TransportDisconnected(TransportEvent):
    """The agent is not in the room any more, and does not come back by itself.

    Attributes:
        reason: of the server, such as ``ROOM_DELETED`` or ``DUPLICATE_IDENTITY``; ``CLIENT_INITIATED`` after ``close``.
        fault: None after ``close``; else what happened.
    """

    type: ClassVar[str] = "disconnected"
    reason: str = "CLIENT_INITIATED"
    fault: GloveError | None = None


@dataclass(frozen=True)
class TransportInterrupted(TransportEvent):
    """The connection is lost; the agent is trying to return."""

    type: ClassVar[str] = "reconnecting"


@dataclass(frozen=True)
class ParticipantConnected(TransportEvent):
    """Somebody is in the room; told as well of those who were there before the agent.

    Attributes:
        identity: unique in the room.
        name: for people.
        kind: ``standard``, ``agent``, ``sip``, ``ingress``, ``egress`` or ``connector``.
        on_behalf_of: whose voice it has, for a face; else empty.
    """

    type: ClassVar[str] = "participant_connected"
    identity: str
    name: str = ""
    kind: str = "standard"
    on_behalf_of: str = ""


@dataclass(frozen=True)
class ParticipantDisconnected(TransportEvent):
    """Somebody has left the room, or is not there any more after the connection was lost."""

    type: ClassVar[str] = "participant_disconnected"
    identity: str


@dataclass(frozen=True)
class MicrophoneMuted(TransportEvent):
    """A participant has muted a microphone, or not any more."""

    type: ClassVar[str] = "microphone_muted"
    identity: str
    muted: bool


@dataclass(frozen=True)
class MicrophoneAudio(TransportEvent):
    """10 ms of one participant, as they came; emitted where somebody listens. ``LiveKitTransport.frame`` is all of them
    together, on one clock."""

    type: ClassVar[str] = "audio"
    pcm: Pcm = field(repr=False)
    rate_hz: int
    identity: str


@dataclass(frozen=True)
class DataReceived(TransportEvent):
    """A JSON object over the data channel. ``identity`` is None where a server sent it."""

    type: ClassVar[str] = "data"
    message: dict[str, Any]
    identity: str | None
    topic: str = ""


@dataclass(frozen=True)
class ChatReceived(TransportEvent):
    """A line that somebody has typed (``lk.chat``)."""

    type: ClassVar[str] = "chat"
    text: str
    identity: str


@dataclass(frozen=True)
class TransportFault(TransportEvent):
    """Something went wrong, and the transport goes on."""

    type: ClassVar[str] = "error"
    error: GloveError
