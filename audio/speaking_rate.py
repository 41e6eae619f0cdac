"""How fast a voice speaks, measured while it does."""

from __future__ import annotations

REMEMBERED = 1500.0
"""Measurements weigh half once this much more text (about a minute of speech) was spoken since."""


class SpeakingRate:
    """Length of sound per unit of text; the unit is the caller's, for example letters."""

    def __init__(self) -> None:
        self._samples = 0.0
        self._weight = 0.0

    def learn(self, weight: int, samples: int) -> None:
        """Text of ``weight`` units took ``samples`` samples; text or sound of no length teaches nothing."""
        if weight <= 0 or samples <= 0:
            return
        kept = 0.5 ** (weight / REMEMBERED)
        self._weight = kept * self._weight + weight
        self._samples = kept * self._samples + samples

    def samples(self, weight: int) -> int | None:
        """How long text of ``weight`` units takes, in samples; None before anything was measured."""
        return round(weight * self._samples / self._weight) if self._weight else None
