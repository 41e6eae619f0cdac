"""Interrupting in two steps: the reply pauses on the first frame of speech, then goes on at the same sample or is cut.

Stopping is free, committing is careful. Every way out of *paused* is listed in the table below, and a deadline closes
the state when nothing else does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from audio.turns.words import has_words, is_backchannel, words

SEVERAL = 3
"""This many words are no mistake of a recogniser that hears a hum."""


class Floor(Enum):
    """Who may be heard while the agent has something to say."""

    FREE = "free"
    PAUSED = "paused"


class Verdict(Enum):
    """What became of a pause."""

    RESUME = "resume"
    CUT = "cut"


@dataclass(frozen=True)
class BargeInTimes:
    """Limits in milliseconds.

    Attributes:
        certain_ms: confirmed speech of this length takes the floor whatever its words.
        deadline_ms: the longest pause without confirmed speech before the reply goes on.
    """

    certain_ms: int = 1200
    deadline_ms: int = 2500


class BargeIn:
    """Decides whether speech over the agent takes the floor.

    ===========================  =======  ==================================
    while paused                 leads to because
    ===========================  =======  ==================================
    ``misfire``                  RESUME   it was too short to be speech
    ``words``, several           CUT      somebody says something
    ``words``, the same again    CUT      one word, understood twice
    ``words``, a first one       stay     recognisers make words of a hum
    ``words`` (backchannel)      stay     a listener's "mhm" is no turn
    ``ended`` with real words    CUT      the utterance is over and counts
    ``ended`` otherwise          RESUME   a cough, a laugh, a "mhm"
    confirmed for certain_ms     CUT      nobody hums that long
    deadline                     RESUME   nothing confirmed the speech
    ===========================  =======  ==================================

    Args:
        pause, resume, cut: effects on the player, called synchronously.
        times: limits.
    """

    def __init__(
        self,
        pause: Callable[[], None],
        resume: Callable[[], None],
        cut: Callable[[], None],
        times: BargeInTimes | None = None,
    ) -> None:
        self._pause, self._resume, self._cut = pause, resume, cut
        self.times = times or BargeInTimes()
        self.floor = Floor.FREE
        self._timer: asyncio.TimerHandle | None = None
        self._suspected = ""

    @property
    def paused(self) -> bool:
        """Whether the reply stands still and waits for a verdict."""
        return self.floor is Floor.PAUSED

    def started(self) -> None:
        """The first frame of speech over an audible agent."""
        if self.floor is Floor.PAUSED:
            return
        self.floor = Floor.PAUSED
        self._pause()
        self._arm(self.times.deadline_ms, Verdict.RESUME)

    def confirmed(self) -> None:
        """The speech outlived the minimum duration."""
        if self.paused:
            self._arm(self.times.certain_ms, Verdict.CUT)

    def misfire(self) -> None:
        """It was no speech."""
        if self.paused:
            self._decide(Verdict.RESUME)

    def words(self, text: str, language: str) -> None:
        """What is understood so far of the speech over the agent.

        The reply stands still already, so waiting for a second opinion on a word or two costs nothing.
        """
        if not self.paused or not has_words(text) or is_backchannel(text, language):
            return
        said = words(text)
        if len(said) >= SEVERAL or said[0] == self._suspected:
            self._decide(Verdict.CUT)
        else:
            self._suspected = said[0]

    def ended(self, text: str, language: str, *, expected: bool = False) -> bool:
        """The speech over the agent is over and means ``text``. Returns whether it takes (or had taken) the floor.

        ``expected``: it is the answer to a question, so that a nod is more than a nod.
        """
        takes = expected or (has_words(text) and not is_backchannel(text, language))
        if self.paused:
            self._decide(Verdict.CUT if takes else Verdict.RESUME)
        return takes

    def release(self) -> None:
        """The reply is gone for other reasons (cut by a command, session closed); no effect is called."""
        self._disarm()
        self._suspected = ""
        self.floor = Floor.FREE

    def _decide(self, verdict: Verdict) -> None:
        self.release()
        if verdict is Verdict.CUT:
            self._cut()
        else:
            self._resume()

    def _arm(self, ms: int, verdict: Verdict) -> None:
        self._disarm()
        self._timer = asyncio.get_running_loop().call_later(ms / 1000, self._decide, verdict)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
