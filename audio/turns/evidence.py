"""Whether somebody really spoke: the voice detector and the recogniser vouch for each other.

Recognisers that listen all the time write words into silence; voice detectors miss quiet talkers and now and then go
deaf. Text that grows is a witness too, unless the room was dead.
"""

from __future__ import annotations

from enum import Enum

FRESH_S = 3.0
VOICE_FROM = 0.15
"""Probability of speech that counts as somebody's voice, if not yet as speech."""

ACTIVE_FROM = 0.05
"""Probability that counts as life in the room."""

DEAF_AFTER_S = 10.0
RESET_EVERY_S = 5.0


class Witness(Enum):
    """What growing text says."""

    HEARD = "heard"
    UNHEARD = "unheard"
    DEAF = "deaf"


class Evidence:
    """Remembers when a voice, and any life in the room, was last heard. Times are seconds on the media clock."""

    def __init__(self) -> None:
        self._voice_s = float("-inf")
        self._active_s = float("-inf")
        self._reset_s = float("-inf")
        self._begun_s: float | None = None

    def probability(self, value: float, at_s: float) -> None:
        """The voice detector's probability (0…1) of a frame."""
        if self._begun_s is None:
            self._begun_s = at_s
        if value >= VOICE_FROM:
            self._voice_s = at_s
        if value >= ACTIVE_FROM:
            self._active_s = at_s

    def voice(self, at_s: float) -> None:
        """Speech was established."""
        self._voice_s = self._active_s = at_s

    def grew(self, at_s: float) -> Witness:
        """The recogniser understood more words.

        ``DEAF``: the detector has heard nobody for so long that it has to be started anew, which is said at most every
        5 s; these words count for nothing yet.
        """
        silent_s = at_s - max(self._voice_s, self._begun_s if self._begun_s is not None else at_s)
        if silent_s > DEAF_AFTER_S:
            if at_s - self._reset_s < RESET_EVERY_S:
                return Witness.UNHEARD
            self._reset_s = at_s
            return Witness.DEAF
        if at_s - self._active_s > FRESH_S:
            return Witness.UNHEARD
        self._voice_s = at_s
        return Witness.HEARD

    def fresh(self, at_s: float) -> bool:
        """Whether a voice was heard within 3 s; words without one are the recogniser's invention."""
        return at_s - self._voice_s <= FRESH_S
