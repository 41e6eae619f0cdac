"""The two places where the room must look behind aiortc's interface, and nothing else does.

aiortc decodes what it receives behind a buffer that adds 80 ms, and 300 ms for good once a packet was lost; and it
tells nobody which RTP timestamps it sends, by which alone a listener can say how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiortc import RTCRtpReceiver, RTCRtpSender

from agents.base.errors import GloveError

OnPacket = Callable[[int, bytes], None]
"""Called with the sequence number and the payload of each packet."""

_BUFFER = "_RTCRtpReceiver__jitter_buffer"
_SENT = "_RTCRtpSender__rtp_timestamp"


class _Tap:
    """Stands where the receiver's jitter buffer stood; it never completes a frame, so that nothing is decoded twice."""

    def __init__(self, on_packet: OnPacket) -> None:
        self._on_packet = on_packet

    def add(self, packet: Any) -> tuple[bool, None]:
        """Take one packet; the answer means: no picture to ask for, nothing to decode."""
        self._on_packet(packet.sequence_number, bytes(packet.payload))
        return False, None


def tap_receiver(receiver: RTCRtpReceiver, on_packet: OnPacket) -> None:
    """Have ``on_packet`` called with each packet as it arrives, instead of decoding it.

    Raises ``GloveError`` (``ERR_WEBRTC_LIBRARY``) where the installed aiortc is built differently.
    """
    _require(receiver, _BUFFER)
    setattr(receiver, _BUFFER, _Tap(on_packet))


def last_sent(sender: RTCRtpSender) -> int:
    """The RTP timestamp (32 bit, 48 kHz) of the packet that was sent last. Raises like ``tap_receiver``."""
    _require(sender, _SENT)
    return int(getattr(sender, _SENT))


def _require(thing: object, name: str) -> None:
    if not hasattr(thing, name):
        raise GloveError(
            "ERR_WEBRTC_LIBRARY",
            "This version of aiortc cannot be used for calls.",
            "Install the version that requirements.lock names; until then pages use their WebSocket.",
        )
