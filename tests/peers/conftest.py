from __future__ import annotations

from tests.peers.livekit_server import livekit
from tests.peers.pulse import pulse, pulse_server

__all__ = ["livekit", "pulse", "pulse_server"]
