"""How often strangers may be wrong before they have to wait."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from agents.base import clock

BURST = 10.0
"""Mistakes that one peer may make at once."""

FORGIVEN_PER_S = 0.1
MOST_PEERS = 1024


class Attempts:
    """Counts the mistakes of each peer, which are forgiven with time.

    Args:
        burst: mistakes at once.
        forgiven_per_s: mistakes that are forgotten per second.
        now: seconds on a monotonic clock.
    """

    def __init__(
        self, burst: float = BURST, forgiven_per_s: float = FORGIVEN_PER_S, now: Callable[[], float] = clock.now
    ) -> None:
        self._burst = burst
        self._forgiven_per_s = forgiven_per_s
        self._now = now
        self._peers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def blocked(self, peer: str) -> bool:
        """Whether ``peer`` has to wait."""
        return self._level(_network(peer)) > self._burst - 1

    def failed(self, peer: str) -> None:
        """``peer`` was wrong once more."""
        key = _network(peer)
        self._peers[key] = (self._level(key) + 1, self._now())
        self._peers.move_to_end(key)
        if len(self._peers) > MOST_PEERS:
            self._peers.popitem(last=False)

    def _level(self, key: str) -> float:
        level, at = self._peers.get(key, (0.0, 0.0))
        return max(0.0, level - (self._now() - at) * self._forgiven_per_s)


def _network(peer: str) -> str:
    """One household device has many IPv6 addresses: those of one network count together."""
    try:
        address = ip_address(peer.split("%")[0])
    except ValueError:
        return peer
    return str(ip_network((address, 64), strict=False)) if isinstance(address, IPv6Address) else str(address)
