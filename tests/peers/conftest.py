from __future__ import annotations

from tests.peers.pulse import pulse, pulse_server

__all__ = ["pulse", "pulse_server"]
