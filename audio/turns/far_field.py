"""Telling the user from the next table by loudness.

The reference is how loud the last turns were; it fades, so that a user who has moved away is heard again. Being ignored
is worse than overhearing: who is turned away three times in a row becomes the reference. Needs a microphone without
automatic gain, which would make everybody equally loud.
"""

from __future__ import annotations

from collections import deque

from audio.pcm import Pcm, rms

SUSTAINED_FRAMES = 5
"""A level counts once it lasts for so many frames (50 ms of 10 ms each): a click is no voice."""

HALF_LIFE_S = 20.0
LEAST_REFERENCE = 0.01
"""RMS of full scale; a reference below it says nothing about distance."""

PATIENCE = 3


class FarField:
    """Compares each utterance with those before it.

    Args:
        ratio: part of the reference (RMS) below which a voice is far away; 0.25 is 12 dB. 0 accepts everybody.
    """

    def __init__(self, ratio: float = 0.25) -> None:
        self.ratio = ratio
        self._levels: deque[float] = deque(maxlen=SUSTAINED_FRAMES)
        self._peak = 0.0
        self._reference = 0.0
        self._at_s = 0.0
        self._streak = 0

    @property
    def peak(self) -> float:
        """The loudest moment of the utterance, RMS of full scale."""
        return self._peak

    def hear(self, frame: Pcm) -> None:
        """The next frame of the utterance."""
        if frame.size:
            self._levels.append(rms(frame))
            if len(self._levels) == SUSTAINED_FRAMES:
                self._peak = max(self._peak, min(self._levels))

    def rejects(self, at_s: float) -> bool:
        """Whether the utterance comes from far away. ``at_s``: now, in seconds on any one clock."""
        reference = self.reference(at_s)
        return self.ratio > 0 and reference >= LEAST_REFERENCE and self._peak < self.ratio * reference

    def rejected(self, at_s: float) -> None:
        """The utterance was turned away for its distance; the third time in a row it becomes the reference."""
        self._streak += 1
        if self._streak >= PATIENCE:
            self._streak = 0
            self._reference, self._at_s = self._peak, at_s

    def accepted(self, at_s: float) -> None:
        """The utterance was a turn: its speaker is the user."""
        self._streak = 0
        self._reference, self._at_s = max(self._peak, self.reference(at_s)), at_s

    def reference(self, at_s: float) -> float:
        """How loud the user is expected to be at most, RMS of full scale."""
        return float(self._reference * 0.5 ** (max(0.0, at_s - self._at_s) / HALF_LIFE_S))

    def clear(self) -> None:
        """The utterance is over."""
        self._levels.clear()
        self._peak = 0.0
