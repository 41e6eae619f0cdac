"""The places where the room must look behind aiortc's interface, and nothing else does.

aiortc decodes what it receives behind a buffer that adds 80 ms, and 300 ms for good once a packet was lost; it tells
nobody which RTP timestamps it sends, by which alone a listener can say how far it has come; it opens sockets at all
addresses of the machine; and it keeps pieces of a message without end until the last one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from aiortc import RTCIceTransport, RTCRtpReceiver, RTCRtpSender, RTCSctpTransport

from agents.base.errors import GloveError

OnPacket = Callable[[int, bytes], None]
"""Called with the sequence number and the payload of each packet."""

_BUFFER = "_RTCRtpReceiver__jitter_buffer"
_SENT = "_RTCRtpSender__rtp_timestamp"
_ICE = "_connection"
_STREAMS = "_inbound_streams"
_MISSING = "_sack_misordered"
_TAKE = "_receive_data_chunk"

MOST_PIECES = 512
"""Pieces of messages, and numbers out of order, that may wait for the rest of their message."""

MOST_STREAMS = 8


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


def listen_only_at(transport: RTCIceTransport, address: str) -> None:
    """Have ``transport`` open its sockets at ``address`` alone. Raises like ``tap_receiver``."""
    connection = _required(transport, _ICE)
    gather = _required(connection, "get_component_candidates")

    async def gather_there(component: int, addresses: list[str], timeout: int = 5) -> Any:
        return await gather(component, [address], timeout)

    connection.get_component_candidates = gather_there


def limit_pieces(sctp: RTCSctpTransport, most_bytes: int, on_excess: Callable[[], None]) -> None:
    """Take no more of a caller whose unfinished messages are longer than ``most_bytes``, or in too many pieces.

    ``on_excess`` is called once, and nothing is kept of what comes after. Raises like ``tap_receiver``.
    """
    _require(sctp, _STREAMS)
    _require(sctp, _MISSING)
    take: Callable[[Any], Coroutine[Any, Any, None]] = _required(sctp, _TAKE)
    over = False

    async def take_within_limits(chunk: Any) -> None:
        nonlocal over
        if over:
            return
        await take(chunk)
        if not _within(sctp, most_bytes):
            over = True
            getattr(sctp, _STREAMS).clear()
            getattr(sctp, _MISSING).clear()
            on_excess()

    setattr(sctp, _TAKE, take_within_limits)


def _within(sctp: RTCSctpTransport, most_bytes: int) -> bool:
    streams = getattr(sctp, _STREAMS)
    if len(streams) > MOST_STREAMS or len(getattr(sctp, _MISSING)) > MOST_PIECES:
        return False
    pieces = [piece for stream in streams.values() for piece in stream.reassembly]
    return len(pieces) <= MOST_PIECES and sum(len(piece.user_data) for piece in pieces) <= most_bytes


def _required(thing: object, name: str) -> Any:
    _require(thing, name)
    return getattr(thing, name)


def _require(thing: object, name: str) -> None:
    if not hasattr(thing, name):
        raise GloveError(
            "ERR_WEBRTC_LIBRARY",
            "This version of aiortc cannot be used for calls.",
            "Install the version that requirements.lock names; until then pages use their WebSocket.",
        )
