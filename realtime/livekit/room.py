"""A LiveKit room as a place with audio in and out."""

from __future__ import annotations

from agents.base.scope import Scope
from audio.io.base import AudioIO, OnFrame, RoomHealth
from realtime.livekit.pump import MixPump
from realtime.livekit.transport import LiveKitTransport
from realtime.livekit.transport_state import TransportState

NETWORK_S = 0.06
"""From the source to a listener's ear on a good network: encoder, packet, jitter buffer."""


class LiveKitRoom(AudioIO):
    """See ``AudioIO``. It owns its transport: opening joins, closing leaves.

    Callers' own devices cancel the echo of the agent, as every LiveKit client does, so it listens while it speaks.

    Args:
        transport: not joined, or joined already.
    """

    full_duplex = True
    output_latency_s = NETWORK_S

    def __init__(self, transport: LiveKitTransport) -> None:
        self.transport = transport
        self.player = transport.player
        self._scope = Scope("livekit room")
        self._pump = MixPump(transport.mix)

    @property
    def time_s(self) -> float:
        """See ``AudioIO``."""
        return self._pump.time_s

    @property
    def health(self) -> RoomHealth:
        """See ``AudioIO``; ``speaker`` is 1 while somebody is there to hear."""
        transport = self.transport
        values = {
            "speaker": float(bool(transport.people.callers)),
            "microphones": float(len(transport.mix.speakers)),
            "rejoined": float(transport.rejoined),
            "republished": float(transport.republished),
        }
        match transport.state:
            case TransportState.JOINED:
                return RoomHealth("ok", "", values)
            case TransportState.RECONNECTING | TransportState.REJOINING:
                return RoomHealth("down", "The connection to the LiveKit room is being restored.", values)
            case _:
                return RoomHealth("down", "The agent is not in the LiveKit room.", values)

    async def open(self, on_frame: OnFrame) -> None:
        """See ``AudioIO``. Raises ``GloveError`` as ``LiveKitTransport.connect``."""
        await self.transport.connect()
        self._scope = Scope("livekit room")
        self._scope.spawn(self._pump.run(on_frame), "pump")

    async def close(self) -> None:
        """See ``AudioIO``."""
        await self._scope.close()
        await self.transport.close()
        self.transport.mix.close()
