"""Turns that the voice detector does not mark: what a recogniser that hears everything understands is not lost.

Three ways lead from text that has stopped growing to a turn, beside the usual one over the detector's silence:

* *sweep*: nobody is heard speaking, and the words have stood still for 1.2 s;
* *stable*: the detector still hears speech (a fan, a crowd), but the words have stood still for 1.5 s and read
  finished, or for as long as an unfinished text is waited for;
* *final*: the recogniser has ended the utterance by itself.

All want evidence that somebody spoke, and none takes what was understood while the floor was the agent's.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ
from audio.turns.contract import Phase
from audio.turns.evidence import Evidence, Witness
from audio.turns.hold import Hold
from audio.turns.streaming import StreamingTranscriber
from audio.turns.words import same_words

SWEEP_S = 1.2
STABLE_S = 1.5
AGAIN_S = 0.4
INSTANT_S = 0.001
"""Waits below it are over: clocks are not that exact."""

CERTAIN_MS = 500
"""Holds up to this are for turns that sound finished."""


class Followed(Protocol):
    """The turn engine, as seen from here."""

    @property
    def phase(self) -> Phase:
        """Where the user is in an utterance."""
        ...

    def agent_has_floor(self) -> bool:
        """Whether the agent is speaking, or about to."""
        ...

    async def judge_live(self) -> Hold:
        """The hold for what is understood at present."""
        ...

    def take_live(self, reason: str) -> None:
        """Let what is understood be a turn, if it is one."""
        ...

    def drop_live(self, reason: str) -> None:
        """It is none."""
        ...

    def detector_deaf(self) -> None:
        """The voice detector hears nobody although somebody speaks."""
        ...


class Following:
    """Watches the words of a streaming recogniser.

    Args:
        engine: takes the turns.
        transcriber: knows the words.
    """

    def __init__(self, engine: Followed, transcriber: StreamingTranscriber) -> None:
        self._engine = engine
        self._transcriber = transcriber
        self._evidence = Evidence()
        self._scope = Scope("following")
        self._text = ""
        self._changed_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._unowned = False
        self._sample = 0

    def probability(self, value: float, sample: int) -> None:
        """The voice detector's probability of the frame that ends at ``sample``."""
        self._sample = sample
        self._evidence.probability(value, sample / CAPTURE_RATE_HZ)

    def speech(self, sample: int) -> None:
        """The voice detector is sure of speech."""
        self._evidence.voice(sample / CAPTURE_RATE_HZ)

    def partial(self, text: str, sample: int) -> bool:
        """The words not taken yet have become ``text``. Returns whether they are other words than before."""
        if same_words(text, self._text):
            return False  # punctuated differently: they stand still
        self._text, self._changed_at = text, asyncio.get_running_loop().time()
        if self._evidence.grew(sample / CAPTURE_RATE_HZ) is Witness.DEAF:
            self._engine.detector_deaf()
        if self._engine.phase is Phase.QUIET and self._engine.agent_has_floor():
            self._unowned = True
            self._transcriber.disown()
        self._look_after(SWEEP_S)
        return True

    def ended(self, sample: int) -> None:
        """The recogniser has ended an utterance that the voice detector did not hear."""
        if self._engine.agent_has_floor():
            self._engine.drop_live("unowned")
        else:
            self._take("final", sample)

    def fresh(self, sample: int) -> bool:
        """Whether somebody's voice was heard lately."""
        return self._evidence.fresh(sample / CAPTURE_RATE_HZ)

    def clear(self) -> None:
        """The utterance is over."""
        self._text = ""
        self._unowned = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def close(self) -> None:
        """Stop; idempotent."""
        self.clear()
        await self._scope.close()

    def _look_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._engine.agent_has_floor():
            self._look_after(AGAIN_S)
        elif self._unowned and self._engine.phase is Phase.QUIET and not self._transcriber.live:
            self._engine.drop_live("unowned")
        elif not self._transcriber.live:
            return
        elif self._engine.phase is Phase.QUIET:
            self._take("sweep", self._sample)
        elif self._engine.phase in (Phase.SPEAKING, Phase.TRAILING):
            self._scope.spawn(self._judge(self._text), "stable")
        else:
            self._look_after(AGAIN_S)

    def _take(self, reason: str, sample: int) -> None:
        if self.fresh(sample):
            self._engine.take_live(reason)
        else:
            self._engine.drop_live("phantom")

    async def _judge(self, text: str) -> None:
        still_s = asyncio.get_running_loop().time() - self._changed_at
        if STABLE_S - still_s > INSTANT_S:
            self._look_after(STABLE_S - still_s)
            return
        hold = await self._engine.judge_live()
        if text != self._text or self._engine.phase not in (Phase.SPEAKING, Phase.TRAILING):
            return
        missing_s = 0.0 if hold.ms <= CERTAIN_MS else STABLE_S + hold.ms / 1000 - still_s
        if missing_s <= INSTANT_S:
            self._engine.take_live("stable")
        else:
            self._look_after(missing_s)
