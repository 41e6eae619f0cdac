"""Speech over the agent: what the turn engine tells the two steps of an interruption, and asks of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agents.base.scope import Scope
from audio.pcm import Pcm
from audio.stt.base import Transcript
from audio.turns.addressed import Addressed
from audio.turns.barge_in import BargeIn, BargeInTimes, Floor
from audio.turns.contract import TurnHost
from audio.turns.glimpse import Glimpse
from audio.turns.progress import Progress
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words
from audio.vad.base import VadAdapter

CONFIRM_S = 0.25
"""A voice detector that cannot confirm speech is asked again after the time that a confirming one would take."""


class OverAgent:
    """Joins voice detector, recogniser and ``BargeIn`` for one utterance at a time.

    Args:
        host: the session.
        addressed: what may take the floor.
        transcriber: knows the text of the utterance; hurries while the reply stands still.
        progress: the utterance.
        scope: owns what is under way.
        glimpsed: called with what was said before a short silence.
        times: limits of interruption.

    Attributes:
        barge_in: decides.
    """

    def __init__(
        self,
        host: TurnHost,
        addressed: Addressed,
        transcriber: Transcriber,
        progress: Progress,
        scope: Scope,
        glimpsed: Callable[[Transcript], None],
        times: BargeInTimes,
    ) -> None:
        self.barge_in = BargeIn(host.pause_agent, host.resume_agent, host.cut_agent, times)
        self._host = host
        self._addressed = addressed
        self._progress = progress
        self._glimpse = Glimpse(transcriber, scope, glimpsed)
        self._probe: asyncio.TimerHandle | None = None
        transcriber.urgent = lambda: self.barge_in.paused

    @property
    def glimpsing(self) -> bool:
        """Whether it is being asked what was said before a short silence."""
        return self._glimpse.running

    @property
    def agent_has_floor(self) -> bool:
        """Whether the agent is speaking, pausing, or about to speak."""
        return self._host.agent_busy() or self.barge_in.paused

    @property
    def may_stop(self) -> bool:
        """Whether a word that is too short to count as speech could be a "stop"."""
        return self.barge_in.paused or (self._addressed.takes_floor is not None and self._host.agent_busy())

    def speech(self) -> None:
        """A first sign of speech, or its confirmation: the agent pauses if it speaks."""
        if self._addressed.takes_floor is None and self._host.agent_busy():
            self._progress.over_agent = True
            self.barge_in.started()

    def confirm_later(self, vad: VadAdapter) -> None:
        """``vad`` cannot confirm speech: see whether it still hears some after a while."""
        self._probe = asyncio.get_running_loop().call_later(CONFIRM_S, self._confirm, vad)

    def trails_off(self) -> None:
        """A silence has begun after confirmed speech."""
        self.barge_in.quiet()
        if self.barge_in.floor is not Floor.FREE:
            self._glimpse.begin()

    def ask(self, lent: Sequence[Pcm]) -> None:
        """A silence has begun after speech too short to count: what was it? ``lent``: its sound."""
        self._glimpse.begin(lent)

    def speaks_on(self) -> None:
        """The silence was none."""
        self._glimpse.drop()

    def words(self, text: str, language: str, *, complete: bool = False) -> None:
        """What is understood so far; ``complete``: up to a silence."""
        addressed = self._addressed
        self._progress.worded = self._progress.worded or has_words(text)
        trimmed = addressed.trim(text)
        if trimmed:
            self._progress.times.worded(self._progress.sample)
        if addressed.takes_floor is None:
            self.barge_in.words(text, language, complete=complete)
        elif addressed.takes_floor(trimmed) and self._host.agent_busy():
            self._host.cut_agent()
        if trimmed:
            self._host.user_partial(trimmed)

    def takes_floor(self, transcript: Transcript, *, expected: bool) -> bool:
        """Whether the utterance that is over says something; then it has, or now takes, the floor."""
        if self._progress.over_agent:
            return self.barge_in.ended(transcript.text, transcript.language, expected=expected)
        return has_words(transcript.text)

    def clear(self) -> None:
        """The utterance is over; a reply that still stands still is for the caller to decide."""
        self._glimpse.drop()
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None

    def _confirm(self, vad: VadAdapter) -> None:
        self._probe = None
        if vad.is_speaking:
            self.barge_in.confirmed()
        else:
            self.barge_in.misfire()
