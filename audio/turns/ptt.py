"""Push-to-talk: from presses of a key to one utterance.

=============  ==========================  ==================================================================
state          event                       leads to
=============  ==========================  ==================================================================
UP             ``down``                    HELD: the utterance opens (or the one being recognised goes on)
HELD           ``up`` after ``least_s``    UP: committed
HELD           ``up`` earlier              RELEASING: recording goes on to ``least_s``, then UP: committed
HELD           ``most_s``                  UP: committed, as if released; the release was lost or forgotten
RELEASING      ``down``                    HELD: the pending commit is off, the same utterance goes on
any            ``cancel``                  UP: dropped
=============  ==========================  ==================================================================

Everything else changes nothing, so repeated and stray calls do no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from agents.base import clock


class Key(Enum):
    """Where the talk key is."""

    UP = "up"
    HELD = "held"
    RELEASING = "releasing"


class TalkHost(Protocol):
    """What the key acts on. Calls are synchronous."""

    def talk_open(self) -> bool:
        """Begin an utterance, or go on with the one that is still being recognised. Returns whether that is allowed."""
        ...

    def talk_commit(self) -> None:
        """The utterance is over and counts."""
        ...

    def talk_drop(self) -> None:
        """The utterance does not count."""
        ...


@dataclass(frozen=True)
class TalkTimes:
    """Limits.

    Attributes:
        least_s: shortest recording; recognisers invent words for less.
        most_s: longest recording.
        preroll_ms: sound kept from before the press: people begin to speak while they press.
    """

    least_s: float = 0.35
    most_s: float = 60.0
    preroll_ms: int = 300


class PushToTalk:
    """The state of the talk key.

    Args:
        host: is told to begin, commit or drop.
        times: limits.
    """

    def __init__(self, host: TalkHost, times: TalkTimes) -> None:
        self._host = host
        self._times = times
        self._key = Key.UP
        self._pressed_at = 0.0
        self._deadline: asyncio.TimerHandle | None = None
        self._pending: asyncio.TimerHandle | None = None

    @property
    def recording(self) -> bool:
        """Whether an utterance is being recorded."""
        return self._key is not Key.UP

    def down(self) -> bool:
        """The key is pressed. Returns whether an utterance is being recorded now."""
        if self._key is Key.RELEASING:
            self._disarm_pending()
            self._key = Key.HELD
        elif self._key is Key.UP and self._host.talk_open():
            self._key = Key.HELD
            self._pressed_at = clock.now()
            self._deadline = self._after(self._times.most_s, self._commit)
        return self.recording

    def up(self) -> None:
        """The key is released."""
        if self._key is not Key.HELD:
            return
        missing_s = self._times.least_s - (clock.now() - self._pressed_at)
        if missing_s <= 0:
            self._commit()
        else:
            self._key = Key.RELEASING
            self._pending = self._after(missing_s, self._commit)

    def cancel(self) -> None:
        """The recording shall not count."""
        if self.recording:
            self.reset()
            self._host.talk_drop()

    def reset(self) -> None:
        """The recording ended for another reason (muted, closed, a typed line); the host is not told."""
        self._disarm_pending()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._key = Key.UP

    def _commit(self) -> None:
        self.reset()
        self._host.talk_commit()

    def _disarm_pending(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    @staticmethod
    def _after(seconds: float, then: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, then)
