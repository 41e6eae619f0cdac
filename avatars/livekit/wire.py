"""What a face inside a LiveKit room needs of the room: byte streams and calls to one participant, and its presence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

OnCall = Callable[[str, str], str]
"""Answers a call, given the caller's identity and the payload."""


class Presence(Enum):
    """Whether the face is in the room: it hears what is sent, it is not there, or the room itself is lost for now."""

    HERE = "here"
    AWAY = "away"
    UNKNOWN = "unknown"


class ByteStream(Protocol):
    """One byte stream to the face. Its end tells the receiver that an utterance is complete."""

    async def write(self, data: bytes) -> None:
        """Send ``data`` after what was written before."""
        ...

    async def close(self) -> None:
        """End the stream; idempotent."""
        ...


class AvatarWire(Protocol):
    """The room, as seen by one face in it."""

    @property
    def identity(self) -> str:
        """Of the participant that is the face."""
        ...

    @property
    def presence(self) -> Presence:
        """``HERE`` once the face shows its picture: from then on it hears what is sent."""
        ...

    def on_presence(self, listener: Callable[[Presence], None]) -> Callable[[], None]:
        """Call ``listener`` whenever ``presence`` changes. Returns an unsubscribe function (idempotent)."""
        ...

    async def open_stream(self, topic: str, attributes: Mapping[str, str]) -> ByteStream:
        """A new byte stream to the face alone.

        Raises:
            Exception: the room's own, if the stream cannot be opened.
        """
        ...

    async def call(self, method: str, payload: str, timeout_s: float) -> str:
        """Call ``method`` of the face, and return its answer.

        Raises:
            Exception: the room's own: refused, unknown to the face, or no answer in time.
        """
        ...

    def on_call(self, method: str, answer: OnCall) -> Callable[[], None]:
        """Answer calls of ``method``, whoever they come from. Returns a function that stops that (idempotent)."""
        ...
