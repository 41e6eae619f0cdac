"""How much one caller may send."""

from __future__ import annotations

from collections.abc import Callable


class TokenBucket:
    """Allows ``rate`` units per second on average and ``burst`` at once.

    Args:
        rate: units per second that are regained.
        burst: most units that can be spent at once.
        now: seconds on a monotonic clock.
    """

    def __init__(self, rate: float, burst: float, now: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._left = burst
        self._at = now()

    def take(self, units: float = 1.0) -> bool:
        """Spend ``units``. False, and nothing is spent, when there are not enough."""
        at = self._now()
        self._left = min(self._burst, self._left + (at - self._at) * self._rate)
        self._at = at
        if units > self._left:
            return False
        self._left -= units
        return True
