"""The caller's packets in their order: what overtook is sorted, what was lost is concealed, nothing waits without need.

The jitter buffer behind it (``realtime.browser.jitter``) gives the stream its pace; here a packet that comes in order
passes at once.
"""

from __future__ import annotations

from audio.pcm import Pcm
from realtime.browser.opus import OpusDecoder, OpusError

PATIENCE_PACKETS = 3
"""So many packets (60 ms) may overtake one before it counts as lost."""

MOST_CONCEALED = 5
"""A gap is filled for at most 100 ms; the library's concealment has faded to silence by then."""

RESTART_PACKETS = 250
"""A number that is further away than this (5 s) begins another stream."""


class PacketOrder:
    """Numbered packets in, samples at 16 kHz out.

    Attributes:
        lost: packets that never came, or came too late.
        late: packets that came after they were given up, or twice.
        broken: packets that could not be decoded.
    """

    def __init__(self) -> None:
        self.lost = self.late = self.broken = 0
        self._decoder = OpusDecoder()
        self._next: int | None = None
        self._held: dict[int, bytes] = {}

    def push(self, number: int, packet: bytes) -> list[Pcm]:
        """Take the packet ``number`` (16 bit, wraps). Returns what can be heard now, often one frame of 20 ms."""
        if self._next is None or self._distance(number) > RESTART_PACKETS:
            self._next = number
            self._held.clear()
        if self._distance(number) < 0 or number in self._held:
            self.late += 1
            return []
        self._held[number] = packet
        out: list[Pcm] = []
        while self._held:
            if self._next in self._held:
                out.append(self._decode(self._held.pop(self._next)))
                self._next = (self._next + 1) & 0xFFFF
            elif len(self._held) >= PATIENCE_PACKETS:
                out.extend(self._give_up())
            else:
                break
        return out

    def close(self) -> None:
        """Give the decoder back; idempotent."""
        self._held.clear()
        self._decoder.close()

    def _distance(self, number: int) -> int:
        """How far ``number`` is ahead of the one expected; a long way back counts as a restart."""
        assert self._next is not None
        ahead = (number - self._next + 0x8000 & 0xFFFF) - 0x8000
        return ahead if ahead >= -RESTART_PACKETS else 0x10000

    def _give_up(self) -> list[Pcm]:
        first = min(self._held, key=self._distance)
        missing = self._distance(first)
        self.lost += missing
        self._next = first
        concealed = [self._decoder.conceal() for _ in range(min(missing, MOST_CONCEALED) - 1)]
        return [*concealed, self._decoder.conceal(self._held[first])]

    def _decode(self, packet: bytes) -> Pcm:
        try:
            return self._decoder.decode(packet)
        except OpusError:
            self.broken += 1
            return self._decoder.conceal()
