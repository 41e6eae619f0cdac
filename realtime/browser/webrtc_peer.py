"""One WebRTC caller, seen as a socket: text over its data channel, sound over its audio line.

So the desk and its callers need not know how somebody is connected. What a data channel cannot do (close with a code,
carry a message of any length) is said in messages of its own: ``close`` with ``code`` and ``reason``, and ``part``.
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from aiortc import RTCDataChannel, RTCPeerConnection, RTCRtpSender
from aiortc.exceptions import InvalidStateError

from agents.base import clock
from agents.base.errors import GloveError
from audio.pcm import ByteJoiner, wire_bytes
from realtime.browser.lead_player import Order
from realtime.browser.packets import PacketOrder
from realtime.browser.webrtc_taps import last_sent
from realtime.browser.webrtc_track import RTP_TICKS, PacedTrack
from realtime.browser.wire import encode

log = structlog.get_logger(__name__)

MOST_UNREAD = 500
"""Messages and packets of sound (10 s) that may wait to be read here."""

MOST_BUFFERED_BYTES = 256 * 1024
"""What may wait to be taken by the network before ``send`` waits."""

PART_CHARACTERS = 16_000
"""Longer messages are sent in parts: at most 64 KB each, which every browser takes."""

GOODBYE_S = 0.5
"""How long a closing connection may take to bring its last words out."""

SILENT_S = 15.0
"""A caller of whom nothing at all has come for so long has gone. Browsers report on what they hear every 5 s."""

LOOK_S = 3.0
"""How often it is looked whether something has come."""


class Peer:
    """See the module; a ``Socket`` and a ``PacedSocket`` of ``realtime.browser.caller``.

    Attributes:
        opened: set once the data channel is open.
        packets: the caller's sound, with its counters.
    """

    def __init__(self, connection: RTCPeerConnection) -> None:
        self.opened = asyncio.Event()
        self.packets = PacketOrder()
        self._connection = connection
        self._channel: RTCDataChannel | None = None
        self._unread: asyncio.Queue[str | bytes | None] = asyncio.Queue(MOST_UNREAD)
        self._room_to_send = asyncio.Event()
        self._over = False
        self._track = PacedTrack(self._spurt)
        self._sender: RTCRtpSender = connection.addTrack(self._track)
        connection.on("datachannel", self._take_channel)
        connection.on("connectionstatechange", self._look_at_state)

    @property
    def over(self) -> bool:
        """Whether the connection has ended, from either side."""
        return self._over

    async def receive(self) -> str | bytes | None:
        """See ``Socket``."""
        if self._over and self._unread.empty():
            return None
        return await self._unread.get()

    async def send(self, data: str | bytes) -> None:
        """See ``Socket``. Raises ``ConnectionError`` when the caller has gone."""
        if isinstance(data, bytes):
            self._track.write(ByteJoiner().push(data))
            return
        if len(data) <= PART_CHARACTERS:
            await self._send_text(data)
            return
        parts = [data[start : start + PART_CHARACTERS] for start in range(0, len(data), PART_CHARACTERS)]
        for number, part in enumerate(parts, 1):
            await self._send_text(encode({"t": "part", "text": part, "last": number == len(parts)}))

    async def close(self, code: int, reason: str) -> None:
        """See ``Socket``. The caller is told why, if it still listens."""
        if self._over:
            return
        self._track.order(Order.CLEAR)
        if self._channel is not None and self._channel.readyState == "open":
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(GOODBYE_S):
                    await self._send_text(encode({"t": "close", "code": code, "reason": reason}))
                    while self._channel.bufferedAmount > 0:
                        await asyncio.sleep(0.01)
        self.end()

    def order(self, order: Order) -> None:
        """See ``PacedSocket``."""
        self._track.order(order)

    def hear(self, number: int, packet: bytes) -> None:
        """Take a packet of the caller's sound."""
        for pcm in [] if self._over else self.packets.push(number, packet):
            self._put(wire_bytes(pcm))

    def too_much(self) -> None:
        """The caller sends messages that nobody could keep: the connection is over."""
        log.warning("a caller sent a message without end")
        self.end()

    def end(self) -> None:
        """The connection is over: whoever reads is told. Idempotent."""
        if not self._over:
            self._over = True
            self._room_to_send.set()
            while self._unread.full():
                self._unread.get_nowait()
            self._unread.put_nowait(None)

    async def watch(self) -> None:
        """Return when nothing has come from the caller for ``SILENT_S``; aiortc itself takes up to 40 s to notice."""
        seen, seen_at = -1, clock.now()
        while clock.now() - seen_at < SILENT_S:
            received = await self._received()
            if received != seen:
                seen, seen_at = received, clock.now()
            await asyncio.sleep(LOOK_S)
        log.info("a caller was not heard of any more", seconds=SILENT_S)

    async def release(self) -> None:
        """Give sockets, threads and memory back; idempotent."""
        self.end()
        self._track.stop()
        try:
            await self._connection.close()
        finally:
            self.packets.close()

    async def _received(self) -> int:
        report = await self._connection.getStats()
        return sum(each.packetsReceived for each in report.values() if each.type == "transport")

    async def _send_text(self, text: str) -> None:
        channel = self._channel
        if self._over or channel is None:
            raise ConnectionError("the caller has gone")
        while channel.bufferedAmount > MOST_BUFFERED_BYTES and not self._over:
            self._room_to_send.clear()
            await self._room_to_send.wait()
        try:
            channel.send(text)
        except InvalidStateError as fault:
            raise ConnectionError("the caller has gone") from fault

    def _take_channel(self, channel: RTCDataChannel) -> None:
        if self._channel is not None:
            log.warning("a caller opened a second data channel")
            self.end()
            return
        self._channel = channel
        channel.bufferedAmountLowThreshold = MOST_BUFFERED_BYTES // 2
        channel.on("bufferedamountlow", self._room_to_send.set)
        channel.on("message", self._take_message)
        channel.on("close", self.end)
        self.opened.set()

    def _take_message(self, data: str | bytes) -> None:
        # Sound has a line of its own here: bytes are a message that nobody understands.
        self._put(data if isinstance(data, str) else "")

    def _put(self, data: str | bytes) -> None:
        if self._over:
            return
        if not self._unread.full():
            self._unread.put_nowait(data)
        elif isinstance(data, str):
            log.warning("a caller sent more than can be read")
            self.end()

    def _look_at_state(self) -> None:
        if self._connection.connectionState in ("failed", "closed"):
            self.end()

    def _spurt(self, position: int) -> None:
        """Tell at which RTP timestamp the sound from ``position`` on begins: the caller can then say what it heard."""
        if self._over or self._channel is None or self._channel.readyState != "open":
            return
        try:
            began = last_sent(self._sender)
        except GloveError as fault:
            log.debug("playback cannot be followed", error=fault.message)
            return
        self._channel.send(encode({"t": "spurt", "rtp": began, "position": position, "ticks": RTP_TICKS}))
