"""What is done where cancelling the device's own voice does not work: it speaks more softly, then the microphone rests.

============  ==================================================  ===========
state         event                                               leads to
============  ==================================================  ===========
FULL          ERLE below ``POOR_DB``                              DUCKED
DUCKED        ERLE still below ``POOR_DB``                        HALF
DUCKED        ERLE at least ``GOOD_DB`` for the time of trial     FULL
HALF          ERLE at least ``GOOD_DB``                           FULL
============  ==================================================  ===========

A loudspeaker that distorts does so less when it is softer, so full volume is tried again only after a while, and ever
later if that does not last. With the microphone at rest the device speaks at full volume again: nobody can interrupt
it.
"""

from __future__ import annotations

from enum import Enum

POOR_DB = 10.0
"""ERLE below which the next state is tried."""
GOOD_DB = 15.0
"""ERLE from which the one before is tried again."""
DUCKED_GAIN = 10 ** (-12 / 20)
"""How loud the device speaks while it is ducked."""
TRIAL_S = 20.0
"""So long it must have gone well, in seconds of sound, before full volume is tried again."""
LONGEST_TRIAL_S = 600.0


class Duplex(Enum):
    """What is done about the device's own voice."""

    FULL = "full"
    DUCKED = "ducked"
    HALF = "half"


class Fallback:
    """The state, and what the measured ERLE makes of it.

    Attributes:
        state: what is done.
        erle_db: the ERLE that led to it; None at the beginning.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A device was opened anew: measure again."""
        self.state = Duplex.FULL
        self.erle_db: float | None = None
        self._trial_s = TRIAL_S
        self._well_s = 0.0

    def judge(self, erle_db: float, seconds: float) -> bool:
        """The ERLE after ``seconds`` more of sound. Returns whether the state has changed, so that it must be measured
        anew."""
        before = self.state
        self._well_s = self._well_s + seconds if erle_db >= GOOD_DB else 0.0
        match self.state:
            case Duplex.FULL if erle_db < POOR_DB:
                self.state = Duplex.DUCKED
            case Duplex.DUCKED if erle_db < POOR_DB:
                self.state = Duplex.HALF
            case Duplex.DUCKED if self._well_s >= self._trial_s:
                self.state = Duplex.FULL
                self._trial_s = min(LONGEST_TRIAL_S, 2 * self._trial_s)
            case Duplex.HALF if erle_db >= GOOD_DB:
                self.state = Duplex.FULL
            case _:
                return False
        self.erle_db, self._well_s = erle_db, 0.0
        return self.state is not before
