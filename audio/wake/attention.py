"""What the session listens for: an explicit state machine with a deadline for every state.

===========  =====================================  ====================================================
state        what the microphone is heard for       how it ends
===========  =====================================  ====================================================
ASLEEP       the wake phrase                        the phrase, a press of the talk key, something to say
AWAKE        everything                             speech, or nothing within ``wake_s``
ENGAGED      everything                             nothing more is heard, thought or said
FOLLOW_UP    everything                             speech, or nothing within ``follow_up_s``
SOUNDING     stop words, the wake phrase            it has been said, and ``alert_s`` after an alert
===========  =====================================  ====================================================

ENGAGED begins with speech, or with a question of the appliance, and ends when the answer has been *heard*: the
follow-up window opens when playout has finished, never while the appliance is still about to speak. SOUNDING is an
appliance that says something unasked (an alert, an announcement, the answer to a typed line) while nobody has its
attention. A noise that turns out to be no turn gives back what was left of the window, so that noise cannot keep a
window open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from agents.base import clock
from audio.wake.base import WakeDetector

AttentionMode = Literal["wake", "open", "ptt"]
"""``wake``: after the wake phrase or while the talk key is held. ``open``: always. ``ptt``: while the key is held."""


class Attention(Enum):
    """States; the values are wire names."""

    ASLEEP = "asleep"
    AWAKE = "awake"
    ENGAGED = "engaged"
    FOLLOW_UP = "follow_up"
    SOUNDING = "sounding"


class Hearing(Enum):
    """What speech may do."""

    NOTHING = "nothing"
    STOP_WORDS = "stop_words"
    EVERYTHING = "everything"


_A = Attention
TRANSITIONS: dict[Attention, frozenset[Attention]] = {
    _A.ASLEEP: frozenset({_A.AWAKE, _A.ENGAGED, _A.SOUNDING}),
    _A.AWAKE: frozenset({_A.ENGAGED, _A.ASLEEP, _A.SOUNDING}),
    _A.ENGAGED: frozenset({_A.FOLLOW_UP, _A.AWAKE, _A.ASLEEP}),
    _A.FOLLOW_UP: frozenset({_A.ENGAGED, _A.AWAKE, _A.ASLEEP, _A.SOUNDING}),
    _A.SOUNDING: frozenset({_A.ASLEEP, _A.AWAKE, _A.ENGAGED}),
}


@dataclass(frozen=True)
class AttentionSettings:
    """How long attention lasts, in seconds.

    Attributes:
        mode: see ``AttentionMode``.
        wake_s: after the wake phrase, until speech begins.
        follow_up_s: after an answer was heard, until speech begins.
        alert_s: after an urgent announcement, in which stop words are still heard.
        stalled_s: longest time in which nothing at all moves while ENGAGED or SOUNDING.
    """

    mode: AttentionMode = "wake"
    wake_s: float = 6.0
    follow_up_s: float = 6.0
    alert_s: float = 9.0
    stalled_s: float = 90.0


@dataclass(frozen=True)
class Attending:
    """How a session attends, and to what.

    Attributes:
        settings: mode and windows.
        detector: of the wake phrase, for this session alone; required in ``wake`` mode. The owner closes it.
    """

    settings: AttentionSettings
    detector: WakeDetector | None = None

    def __post_init__(self) -> None:
        if self.settings.mode == "wake" and self.detector is None:
            raise ValueError("a wake word detector is required for mode 'wake'")


class AttentionMachine:
    """Moves between the states; the session tells what happens and asks what may be heard. Belongs to a running loop.

    Args:
        settings: mode and windows.
        busy: whether anything is being heard, thought or said.
        on_change: called after each move with the old and the new state.
        on_stalled: called when ``stalled_s`` have passed in ENGAGED or SOUNDING; returns whether something still moves
            (then the deadline starts again); what it ends must lead to ``settle``.
    """

    def __init__(
        self,
        settings: AttentionSettings,
        busy: Callable[[], bool],
        on_change: Callable[[Attention, Attention], None],
        on_stalled: Callable[[], bool],
    ) -> None:
        self.settings = settings
        self.state = Attention.AWAKE if settings.mode == "open" else Attention.ASLEEP
        self._busy = busy
        self._on_change = on_change
        self._on_stalled = on_stalled
        self._window_ends = 0.0
        self._answered = False
        self._urgent = False
        self._deadline: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None

    @property
    def hearing(self) -> Hearing:
        """What speech may do now."""
        if self.settings.mode == "ptt":
            return Hearing.NOTHING  # the talk key has a way of its own
        match self.state:
            case Attention.ASLEEP:
                return Hearing.NOTHING
            case Attention.SOUNDING:
                return Hearing.STOP_WORDS
            case _:
                return Hearing.EVERYTHING

    def wake(self) -> None:
        """The wake phrase was heard: listen, for a whole window from now."""
        if self.state is Attention.ENGAGED:
            self._answered = False
            self._window_ends = clock.now() + self.settings.wake_s
        elif self.state is Attention.AWAKE:
            self._open_window(self.settings.wake_s)
        else:
            self._move(Attention.AWAKE)
            self._open_window(self.settings.wake_s)

    def speech(self) -> None:
        """Speech is established; it is not known yet whether it is a turn."""
        if self.state in (Attention.AWAKE, Attention.FOLLOW_UP):
            self._engage()

    def turn(self) -> None:
        """Somebody spoke to the appliance (a committed turn, the talk key)."""
        self._urgent = False
        if self.state is not Attention.ENGAGED:
            self._engage()

    def ask(self) -> None:
        """The appliance asks something: the answer needs no wake phrase, and what follows it opens a window."""
        if self.state is not Attention.ENGAGED:
            self._engage()
        self._answered = True

    def reply(self, *, urgent: bool = False) -> None:
        """The appliance begins to say something, or to think about it."""
        self._urgent = urgent or (self._urgent and self.state is Attention.SOUNDING)
        if self.state is Attention.ASLEEP or (self.state is Attention.SOUNDING and self.settings.mode != "open"):
            self._sound()
        elif self.state is Attention.ENGAGED:
            self._answered = True
        elif urgent and self.settings.mode != "open":
            self._sound()
        else:
            self._engage()
            self._answered = True

    def settle(self, after_s: float = 0.0) -> None:
        """Something ended; if nothing else goes on ``after_s`` seconds from now, attention moves on."""
        self._cancel(self._settling)
        self._settling = asyncio.get_running_loop().call_later(after_s, self._settle)

    def sleep(self) -> None:
        """Stop listening now (the microphone was muted); what is being said is said to its end."""
        self._window_ends = 0.0
        if self.settings.mode == "open":
            return
        if self._busy():
            self._answered = False
        elif self.state is not Attention.ASLEEP:
            self._move(Attention.ASLEEP)

    def close(self) -> None:
        """Stop all timers and forget; idempotent."""
        self._cancel(self._deadline)
        self._cancel(self._settling)
        self._deadline = self._settling = None
        self._urgent = self._answered = False
        self.state = Attention.AWAKE if self.settings.mode == "open" else Attention.ASLEEP

    def _engage(self) -> None:
        self._answered = False
        self._move(Attention.ENGAGED)
        self._watch()

    def _sound(self) -> None:
        if self.state is not Attention.SOUNDING:
            self._move(Attention.SOUNDING)
        self._watch()

    def _settle(self) -> None:
        self._settling = None
        if self._busy():
            return
        if self.state is Attention.SOUNDING:
            self._linger()
        elif self.state is Attention.ENGAGED:
            self._release()

    def _linger(self) -> None:
        if self._urgent:
            self._arm(self.settings.alert_s, self._expire)
        else:
            self._move(Attention.ASLEEP)

    def _release(self) -> None:
        left = self._window_ends - clock.now()
        if self.settings.mode == "open":
            self._move(Attention.AWAKE)
        elif self._answered and self.settings.mode == "wake":
            self._move(Attention.FOLLOW_UP)
            self._open_window(self.settings.follow_up_s)
        elif left > 0 and self.settings.mode == "wake":
            self._move(Attention.AWAKE)
            self._arm(left, self._expire)
        else:
            self._move(Attention.ASLEEP)

    def _open_window(self, seconds: float) -> None:
        self._window_ends = clock.now() + seconds
        self._arm(seconds, self._expire)

    def _expire(self) -> None:
        self._deadline = None
        self._urgent = False
        self._move(Attention.ASLEEP)

    def _watch(self) -> None:
        self._arm(self.settings.stalled_s, self._stalled)

    def _stalled(self) -> None:
        self._deadline = None
        if self._on_stalled():
            self._watch()
        else:
            self.settle()
            self._watch()

    def _move(self, state: Attention) -> None:
        if state not in TRANSITIONS[self.state]:
            raise RuntimeError(f"illegal attention transition {self.state.value} → {state.value}")
        self._cancel(self._deadline)
        self._deadline = None
        before, self.state = self.state, state
        self._on_change(before, state)

    def _arm(self, seconds: float, then: Callable[[], None]) -> None:
        self._cancel(self._deadline)
        self._deadline = asyncio.get_running_loop().call_later(seconds, then)

    @staticmethod
    def _cancel(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
