"""What one recogniser behind a WebSocket writes and reads; its session is that of ``audio.providers.socket_stt``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from agents.base.errors import GloveVoiceError
from agents.models.faults import Account
from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples, silence
from audio.providers.socket import Message, Target
from audio.stt.base import SttEvent


@dataclass(frozen=True)
class Lost(SttEvent):
    """The service says that this connection is of no more use, and why."""

    type: ClassVar[str] = "lost"
    error: GloveVoiceError


class SttWire(Protocol):
    """What one service writes and reads.

    Attributes:
        account: whose faults are named.
        keep_alive_s: longest pause in seconds that the service takes without closing.
    """

    account: Account
    keep_alive_s: float

    async def target(self) -> Target:
        """Where to connect now. Raises ``GloveError`` when that cannot be found out (no token)."""
        ...

    def begin(self) -> None:
        """A new connection is open: forget what was read from the last one."""
        ...

    def audio(self, pcm: Pcm) -> Message:
        """16 kHz sound as a message."""
        ...

    def finish(self) -> Sequence[Message]:
        """The messages that ask for a final of everything sent."""
        ...

    def keep_alive(self) -> Message:
        """A message that says nothing and keeps the connection open."""
        ...

    def read(self, message: Message) -> Sequence[SttEvent]:
        """What ``message`` says: ``SttPartial``, ``SttFinal``, ``SttFault`` (the session goes on) or ``Lost``.

        A final without text stands for the last partial.
        """
        ...


def quiet(ms: float) -> Pcm:
    """Silence for services that want sound where nobody speaks."""
    return silence(ms_to_samples(ms, CAPTURE_RATE_HZ))
