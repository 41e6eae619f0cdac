"""When the user last gave a sign of life, so that nobody is interrupted who is in the middle of something."""

from __future__ import annotations

from agents.base import clock
from agents.core.external import Idle


class UserActivity:
    """Remembers the last sign of the user.

    Args:
        window_s: how long a sign counts, in seconds.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._last_s: float | None = None

    def seen(self) -> None:
        """The user types, speaks or sends something right now."""
        self._last_s = clock.now()

    def idle(self) -> Idle:
        """What a policy may know."""
        if self._last_s is None:
            return Idle(user_active=False, since_activity_s=None)
        since_s = clock.now() - self._last_s
        return Idle(user_active=since_s < self._window_s, since_activity_s=since_s)
