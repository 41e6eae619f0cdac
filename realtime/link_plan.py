"""When a session is to be replaced: as early as a good moment allows, as late as it must."""

from __future__ import annotations

import math

from agents.base import clock
from realtime.link_state import LinkSettings

_SHARE = 5
"""A session is replaced in the last fifth of its time, however short that is."""

_RETRY_S = 2.0
"""Wait before the next attempt after a successor was given up, and before a session is replaced that is new: a provider
that ends each one at once is not dialled without a pause."""


class RotationPlan:
    """The window in which one session is to be replaced, on the loop's clock.

    Args:
        life_s: how long the session lasts, or None if nothing is known.
        settings: of the link.
    """

    def __init__(self, life_s: float | None, settings: LinkSettings) -> None:
        self._settings = settings
        self._ripe = clock.now() + _RETRY_S
        self.earliest = self.latest = math.inf
        if life_s is not None:
            self._end(clock.now() + life_s, min(settings.early_s, life_s / _SHARE))

    def expires(self, left_s: float) -> None:
        """The provider has said that so many seconds are left. It never gains time."""
        end = clock.now() + left_s
        if end - self._last(left_s) < self.latest:
            self._end(end, left_s)

    def now(self) -> None:
        """Replace it at the next good moment, for another reason."""
        self.earliest = min(self.earliest, clock.now())

    def later(self) -> None:
        """A successor was given up: not at once again."""
        self._ripe = clock.now() + _RETRY_S
        self.earliest = min(self._ripe, self.latest)

    def is_due(self, *, idle: bool) -> bool:
        """Whether to replace the session now."""
        now = clock.now()
        if now < self._ripe:
            return False
        return now >= self.latest or (idle and now >= self.earliest)

    def _end(self, end: float, early_s: float) -> None:
        self.earliest = end - early_s
        self.latest = end - self._last(early_s)

    def _last(self, span_s: float) -> float:
        return min(self._settings.last_s, span_s / 2)
