"""How long somebody pauses within what they say, and what that means for waiting.

People who think between their words do it again and again. Each pause after which the speaker went on counts for
0.3 of the estimate; without any, it falls back to the usual within minutes, since another may be speaking by then.
"""

from __future__ import annotations

import math

USUAL_MS = 700.0
LONGEST_MS = 5000.0
"""A longer silence was no pause within a turn."""

WEIGHT = 0.3
FORGET_S = 120.0
"""Time constant with which an estimate is forgotten."""

CERTAIN_MS = 500
"""Holds up to this are for turns that sound finished; no habit makes them longer."""

MOST_FACTOR = 3.0
LONGEST_HOLD_MS = 2800


class Pace:
    """The pauses of the present speaker. Times are seconds on any one clock."""

    def __init__(self) -> None:
        self._estimate_ms = USUAL_MS
        self._at_s = 0.0

    def paused(self, pause_ms: float, at_s: float) -> None:
        """The speaker went on after ``pause_ms`` of silence."""
        if 0 < pause_ms < LONGEST_MS:
            self._estimate_ms = (1 - WEIGHT) * self.estimate_ms(at_s) + WEIGHT * pause_ms
            self._at_s = at_s

    def estimate_ms(self, at_s: float) -> float:
        """The pauses to expect."""
        kept = math.exp(-max(0.0, at_s - self._at_s) / FORGET_S)
        return USUAL_MS + (self._estimate_ms - USUAL_MS) * kept

    def scaled(self, hold_ms: int, at_s: float) -> int:
        """``hold_ms`` for this speaker: longer for who pauses long, never shorter, certain ends as they are."""
        if hold_ms <= CERTAIN_MS:
            return hold_ms
        factor = min(MOST_FACTOR, max(1.0, self.estimate_ms(at_s) / USUAL_MS))
        return max(hold_ms, min(round(hold_ms * factor), LONGEST_HOLD_MS))
