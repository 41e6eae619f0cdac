"""Interrupting in two steps: the reply pauses on the first frame of speech, then goes on at the same sample or is cut.

Stopping is free, committing is careful. Every way out of *paused* is listed in the table below, and a deadline closes
the state when nothing else does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from audio.turns.own_words import is_echo
from audio.turns.stop import says_stop
from audio.turns.words import has_words, is_backchannel, words

SEVERAL = 3
"""This many words are no mistake of a recogniser that hears a hum."""


class Floor(Enum):
    """Who may be heard while the agent has something to say."""

    FREE = "free"
    PAUSED = "paused"
    SHARED = "shared"


class Verdict(Enum):
    """What became of a pause."""

    RESUME = "resume"
    CUT = "cut"


@dataclass(frozen=True)
class BargeInTimes:
    """Limits in milliseconds.

    Attributes:
        worded_ms: confirmed speech of this length takes the floor if a word was understood in it.
        certain_ms: confirmed speech of this length takes the floor while nobody knows its words.
        deadline_ms: the longest pause for what is not known to be speech with words.
    """

    worded_ms: int = 500
    certain_ms: int = 1200
    deadline_ms: int = 2500


class BargeIn:
    """Decides whether speech over the agent takes the floor.

    ===================================  =======  ===========================================
    while paused                         leads to because
    ===================================  =======  ===========================================
    ``misfire``                          RESUME   it was too short to be speech
    ``words`` that mean "stop"           CUT      that is always obeyed
    ``words``, several                   CUT      somebody says something
    ``words``, the same again            CUT      one word, understood twice
    ``words``, complete                  CUT      the speaker makes a pause
    ``words``, after ``worded_ms``       CUT      a word, and it goes on
    ``words``, a first one               stay     recognisers make words of a hum
    ``words``: hum, nod, own words, far  stay     a listener's "mhm" is no turn, nor is echo
    ``ended`` with real words            CUT      the utterance is over and counts
    ``ended`` otherwise                  RESUME   a cough, a laugh, a "mhm", echo
    confirmed for ``certain_ms``         CUT      nobody hums that long, unless he is heard to
    ``deadline_ms``                      RESUME   nothing showed that words were said
    ===================================  =======  ===========================================

    If the deadline let the reply go on although the voice did, the floor is *shared*: the same words still cut.

    Args:
        pause, resume, cut: effects on the player, called synchronously.
        times: limits.

    Attributes:
        own_words: what the agent has just said, of which an echo may be heard.
        is_far: whether the voice is that of somebody at another table.
        on_released: called when the floor is free again.
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
        self.own_words: Callable[[], str] = str
        self.is_far: Callable[[], bool] = bool
        self.on_released: Callable[[], None] = lambda: None
        self.floor = Floor.FREE
        self._timer: asyncio.TimerHandle | None = None
        self._suspected = ""
        self._empty = False
        self._confirmed_at: float | None = None

    @property
    def paused(self) -> bool:
        """Whether the reply stands still and waits for a verdict."""
        return self.floor is Floor.PAUSED

    def started(self) -> None:
        """The first frame of speech over an audible agent."""
        if self.paused:
            return
        self.release()
        self.floor = Floor.PAUSED
        self._pause()
        self._arm(self.times.deadline_ms, self._give_back)

    def confirmed(self) -> None:
        """The speech outlived the minimum duration, or goes on after a short silence."""
        if not self.paused:
            return
        self._confirmed_at = asyncio.get_running_loop().time()
        self._arm(self.times.certain_ms, self._certain)
        if self._suspected:
            self._arm(self.times.worded_ms, self._take)

    def quiet(self) -> None:
        """A silence has begun; whether it lasts will be told by ``confirmed`` or ``ended``."""
        self._confirmed_at = None
        if self.paused:
            self._arm(self.times.deadline_ms, self._give_back)

    def misfire(self) -> None:
        """It was no speech."""
        if self.paused:
            self._decide(Verdict.RESUME)
        else:
            self.release()

    def words(self, text: str, language: str, *, complete: bool = False) -> None:
        """What is understood so far of the speech over the agent; ``complete``: up to a silence.

        The reply stands still already, so waiting for a second opinion on a word or two costs nothing.
        """
        if self.floor is Floor.FREE:
            return
        if says_stop(text):
            self._decide(Verdict.CUT)
        elif self.is_far() or not self._counts(text, language):
            self._empty, self._suspected = True, ""
        else:
            said = words(text)
            if complete or len(said) >= SEVERAL or said[0] == self._suspected or self._speaks_for(self.times.worded_ms):
                self._decide(Verdict.CUT)
            else:
                self._suspect(said[0])

    def ended(self, text: str, language: str, *, expected: bool = False) -> bool:
        """The speech over the agent is over and means ``text``. Returns whether it takes (or had taken) the floor.

        ``expected``: it is the answer to a question, so that a nod is more than a nod.
        """
        takes = expected or says_stop(text) or self._counts(text, language)
        if self.paused:
            self._decide(Verdict.CUT if takes else Verdict.RESUME)
        elif takes and self.floor is Floor.SHARED:
            self._decide(Verdict.CUT)
        else:
            self.release()
        return takes

    def release(self) -> None:
        """The reply is gone for other reasons (cut by a command, session closed); no effect is called."""
        self._disarm()
        self._suspected = ""
        self._empty = False
        self._confirmed_at = None
        self.floor = Floor.FREE
        self.on_released()

    def _counts(self, text: str, language: str) -> bool:
        """Whether ``text`` is more than a hum, a nod, or the agent's own words."""
        return has_words(text) and not is_backchannel(text, language) and not is_echo(text, self.own_words())

    def _suspect(self, word: str) -> None:
        self._suspected, self._empty = word, False
        if self._confirmed_at is not None and self.paused:
            past_ms = 1000 * (asyncio.get_running_loop().time() - self._confirmed_at)
            self._arm(self.times.worded_ms - past_ms, self._take)

    def _speaks_for(self, ms: float) -> bool:
        since = self._confirmed_at
        return since is not None and asyncio.get_running_loop().time() - since >= ms / 1000

    def _certain(self) -> None:
        if self._empty or self.is_far():
            self._arm(self.times.deadline_ms - self.times.certain_ms, self._give_back)
        else:
            self._take()

    def _take(self) -> None:
        self._decide(Verdict.CUT)

    def _give_back(self) -> None:
        """Nothing has shown that words were said, but the voice may go on."""
        self._decide(Verdict.RESUME)
        self.floor = Floor.SHARED

    def _decide(self, verdict: Verdict) -> None:
        self.release()
        if verdict is Verdict.CUT:
            self._cut()
        else:
            self._resume()

    def _arm(self, ms: float, effect: Callable[[], None]) -> None:
        self._disarm()
        self._timer = asyncio.get_running_loop().call_later(max(0.0, ms) / 1000, effect)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
