"""The states of a transport, and which may follow which."""

from __future__ import annotations

from enum import Enum
from typing import Final


class TransportState(Enum):
    """Where the agent is."""

    IDLE = "idle"
    """Nowhere yet."""

    JOINING = "joining"
    """On its way into the room."""

    JOINED = "joined"
    """In the room."""

    RECONNECTING = "reconnecting"
    """The SDK is restoring the connection."""

    REJOINING = "rejoining"
    """The SDK has given up; the agent joins anew."""

    ENDED = "ended"
    """Out of the room for good: it is over, or somebody else is the agent."""

    CLOSED = "closed"
    """Left of its own accord."""


_S = TransportState

MOVES: Final = {
    _S.IDLE: {_S.JOINING, _S.CLOSED},
    _S.JOINING: {_S.JOINED, _S.IDLE, _S.REJOINING, _S.ENDED, _S.CLOSED},
    _S.JOINED: {_S.RECONNECTING, _S.REJOINING, _S.ENDED, _S.CLOSED},
    _S.RECONNECTING: {_S.RECONNECTING, _S.JOINED, _S.REJOINING, _S.ENDED, _S.CLOSED},
    _S.REJOINING: {_S.JOINED, _S.ENDED, _S.CLOSED},
    _S.ENDED: {_S.CLOSED},
    _S.CLOSED: set[TransportState](),
}

FINAL_REASONS: Final = {
    "DUPLICATE_IDENTITY": ("ERR_LIVEKIT_REPLACED", "Somebody else joined the room under the agent's name."),
    "PARTICIPANT_REMOVED": ("ERR_LIVEKIT_REMOVED", "The agent was sent out of the room."),
    "ROOM_DELETED": ("ERR_LIVEKIT_ROOM_ENDED", "The room was deleted."),
    "ROOM_CLOSED": ("ERR_LIVEKIT_ROOM_ENDED", "The room has ended."),
    "USER_REJECTED": ("ERR_LIVEKIT_REMOVED", "The call was refused."),
}
"""Reasons of the server after which coming back would be wrong, with the code and the sentence of the fault."""
