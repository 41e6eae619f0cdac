"""Turns that this machine finds and a provider answers: it hears exactly what the turn engine takes for speech."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm
from audio.turns.contract import Phase
from audio.turns.engine import TurnEngine
from audio.vad.base import VadAdapter, VadEvent
from realtime.agent import RealtimeAgent
from realtime.uplink import Uplink

PREROLL_S = 0.8
"""Sound from before speech was established that belongs to the turn."""

LONGEST_S = 60.0
"""Longest turn that is kept while it is not known whether it interrupts the agent."""


class LocalTurns:
    """Streams an utterance to the provider while it is spoken, and ends the turn when the engine commits it.

    Over the agent's speech an utterance is kept until it is a turn: the provider would stop answering at its beginning.

    Args:
        agent: hears.
    """

    def __init__(self, agent: RealtimeAgent) -> None:
        self._agent = agent
        self._uplink = Uplink(agent.adapter.input_format.rate_hz)
        self._kept: deque[Pcm] = deque()
        self._open = False
        self._speech = False

    def beside(self, engine: TurnEngine, remote: Callable[[], bool]) -> LocalEars:
        """Ears that hear with ``engine``, and here as well while ``remote``."""
        return LocalEars(engine, self, remote)

    def frame(self, frame: Pcm) -> None:
        """One frame of the microphone, after the engine had it."""
        if self._open:
            self._agent.send_audio(self._uplink.push(frame))
            return
        self._kept.append(frame)
        limit_s = LONGEST_S if self._speech else PREROLL_S
        while len(self._kept) * FRAME_SAMPLES > limit_s * CAPTURE_RATE_HZ:
            self._kept.popleft()

    def started(self, *, over_agent: bool) -> None:
        """Speech is established."""
        self._speech = True
        if not over_agent and not self._open:
            self._begin()

    def committed(self) -> bool:
        """What was said is a turn. Returns whether there was sound of it."""
        if not self._speech and not self._open:
            return False
        if not self._open:
            self._begin()
        self._open = self._speech = False
        self._agent.end_turn()
        return True

    def dropped(self) -> None:
        """What was said is no turn."""
        self._speech = False
        if self._open:
            self._open = False
            self._agent.end_turn(respond=False)

    def _begin(self) -> None:
        self._open = True
        self._agent.begin_turn()
        while self._kept:
            self._agent.send_audio(self._uplink.push(self._kept.popleft()))


class LocalEars:
    """The turn engine, with a listener beside it (``Ears``)."""

    def __init__(self, engine: TurnEngine, turns: LocalTurns, remote: Callable[[], bool]) -> None:
        self._engine = engine
        self._turns = turns
        self._remote = remote

    @property
    def trim(self) -> Callable[[str], str]:
        """See ``Addressed``."""
        return self._engine.trim

    @trim.setter
    def trim(self, trim: Callable[[str], str]) -> None:
        self._engine.trim = trim

    @property
    def takes_floor(self) -> Callable[[str], bool] | None:
        """See ``Addressed``."""
        return self._engine.takes_floor

    @takes_floor.setter
    def takes_floor(self, takes_floor: Callable[[str], bool] | None) -> None:
        self._engine.takes_floor = takes_floor

    @property
    def vad(self) -> VadAdapter | None:
        """Of the engine."""
        return self._engine.vad

    @property
    def phase(self) -> Phase:
        """Of the engine."""
        return self._engine.phase

    @property
    def settled(self) -> bool:
        """Of the engine."""
        return self._engine.settled

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """See ``Ears``."""
        return self._engine.observe(frame, sample)

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """See ``Ears``."""
        self._engine.process(frame, sample, events)
        if self._remote():
            self._turns.frame(frame)

    def hold(self, frames: Iterable[Pcm]) -> None:
        """See ``Ears``."""
        earlier = list(frames)
        if self._remote():
            for frame in earlier:
                self._turns.frame(frame)
        self._engine.hold(earlier)

    def commit(self) -> None:
        """See ``Ears``."""
        self._engine.commit()

    def forget(self) -> None:
        """See ``Ears``."""
        self._engine.forget()
        self._turns.dropped()
