"""The agent's sound on its way to a WebRTC caller: packets of 20 ms, in real time, and next to nothing in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from av.packet import Packet

from agents.base import clock
from audio.pcm import Pcm, silence
from realtime.browser.lead_player import Order
from realtime.browser.opus import FRAME_SAMPLES, RATE_HZ, OpusEncoder

RTP_HZ = 48_000
RTP_TICKS = RTP_HZ // RATE_HZ
"""Ticks of the RTP clock per sample."""

PACKET_S = FRAME_SAMPLES / RATE_HZ

TAIL_PACKETS = 12
"""Packets of silence after a reply (240 ms): the listener's buffer gives its last sound only when something follows,
and a lost last packet is repaired by the one after it."""

KEEPALIVE_S = 0.4
"""Pause between two packets of silence, as with Opus DTX in browsers."""

MOST_SAMPLES = 5 * RATE_HZ
"""The player never sends more than 0.2 s ahead; this only bounds the memory."""


class PacedTrack(MediaStreamTrack):
    """A track of ready-made Opus packets.

    Args:
        on_spurt: called when the first packet after silence, after a pause or after a clear has been sent, with the
            number of samples that were sent since the last clear and before it.
    """

    kind = "audio"

    def __init__(self, on_spurt: Callable[[int], None]) -> None:
        super().__init__()
        self._on_spurt = on_spurt
        self._encoder = OpusEncoder()
        self._pending = silence(0)
        self._position = 0
        self._paused = False
        self._tail = TAIL_PACKETS
        self._slot = -1
        self._started_at: float | None = None
        self._news = asyncio.Event()
        self._flowing = False
        self._held = False
        self._spurt: int | None = None

    @property
    def waiting(self) -> int:
        """Samples that have not left yet."""
        return self._pending.size

    def write(self, pcm: Pcm) -> None:
        """Append sound at 16 kHz."""
        if self._pending.size + pcm.size <= MOST_SAMPLES:
            self._pending = np.concatenate([self._pending, pcm])
            self._news.set()

    def order(self, order: Order) -> None:
        """Stop at once, go on, or forget what has not left."""
        if order is Order.PAUSE:
            self._paused = True
        elif order is Order.RESUME:
            self._paused = False
            self._news.set()
        elif order is Order.CLEAR:
            self._pending = silence(0)
            self._position = 0
            self._paused = self._flowing = False
            self._spurt = None

    def stop(self) -> None:
        """See ``MediaStreamTrack``."""
        super().stop()
        self._encoder.close()
        self._news.set()

    async def recv(self) -> Packet[Any]:
        """See ``MediaStreamTrack``; the next packet, when it is due."""
        self._tell_spurt()
        await self._wait()
        if self.readyState != "live":
            raise MediaStreamError
        packet = Packet(self._encoder.encode(self._frame()))
        packet.pts = self._slot * FRAME_SAMPLES * RTP_TICKS
        packet.time_base = Fraction(1, RTP_HZ)
        return packet

    def _tell_spurt(self) -> None:
        # The sender asks for the next packet once the last one has left: only then is its timestamp known.
        if self._spurt is not None:
            spurt, self._spurt = self._spurt, None
            self._on_spurt(spurt)

    async def _wait(self) -> None:
        now = clock.now()
        if self._started_at is None:
            self._started_at = now
        if self._tail <= 0 and not self._audible:
            self._news.clear()
            try:
                async with asyncio.timeout(KEEPALIVE_S):
                    await self._news.wait()
            except TimeoutError:
                pass  # nothing to say: a packet of silence is due
        # Slots that have passed are left out: the stream never runs faster than time.
        passed = int((clock.now() - self._started_at) / PACKET_S)
        self._slot = max(self._slot + 1, passed)
        await clock.sleep_until(self._started_at + self._slot * PACKET_S)

    @property
    def _audible(self) -> bool:
        return self._pending.size > 0 and not self._paused

    def _frame(self) -> Pcm:
        if not self._audible or self._waits_for_more():
            self._flowing = False
            self._tail -= 1
            return silence(FRAME_SAMPLES)
        if not self._flowing:
            self._flowing = True
            self._spurt = self._position
        self._held = False
        self._tail = TAIL_PACKETS
        frame, self._pending = self._pending[:FRAME_SAMPLES], self._pending[FRAME_SAMPLES:]
        self._position += frame.size
        if frame.size < FRAME_SAMPLES:
            frame = np.concatenate([frame, silence(FRAME_SAMPLES - frame.size)])
        return frame

    def _waits_for_more(self) -> bool:
        """Less than a packet is there: the rest of it may come within the next 20 ms, and else this is the end."""
        self._held = self._pending.size < FRAME_SAMPLES and not self._held
        return self._held
