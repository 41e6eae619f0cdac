"""Speech that goes on too long: is it noise, and when is it a turn although the voice never stops?"""

from __future__ import annotations

from typing import Protocol

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.turns.contract import Phase, TurnHost, TurnSettings
from audio.turns.deciding import Deciding
from audio.turns.over_agent import OverAgent
from audio.turns.progress import Progress
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words

log = structlog.get_logger(__name__)


class EndlessEngine(Protocol):
    """The turn engine, as seen from here."""

    @property
    def phase(self) -> Phase:
        """Where the user is in an utterance."""
        ...

    def fall_silent(self) -> None:
        """The utterance counts as over."""
        ...

    def discard(self, reason: str) -> None:
        """It is no turn."""
        ...


class Endless:
    """Asks a long utterance for words, and ends one that has reached the limit.

    Args:
        engine: has the phases.
        host: the session.
        transcriber: knows the words, and how much was said.
        deciding: makes a turn of what has reached the limit.
        over: what is said over the agent.
        progress: the utterance.
        scope: owns the questions to the recogniser.
        settings: the limits.
        by_voice: whether a voice detector says where speech is; without one, all sound is.
    """

    def __init__(
        self,
        engine: EndlessEngine,
        host: TurnHost,
        transcriber: Transcriber,
        deciding: Deciding,
        over: OverAgent,
        progress: Progress,
        scope: Scope,
        settings: TurnSettings,
        *,
        by_voice: bool,
    ) -> None:
        self._engine = engine
        self._host = host
        self._transcriber = transcriber
        self._deciding = deciding
        self._over = over
        self._progress = progress
        self._scope = scope
        self._settings = settings
        self._by_voice = by_voice

    def check(self) -> None:
        """A frame was heard."""
        seconds = self._transcriber.seconds
        if self._voiced and not self._progress.worded and seconds >= self._settings.noise_s:
            self._progress.worded = True
            self._scope.spawn(self._ask_for_words(self._deciding.sequence), "noise")
        if seconds < self._settings.max_turn_s or self._deciding.awaited:
            return
        if self._by_voice:
            if not self._voiced:
                return
            self._engine.fall_silent()
        self._deciding.begin(now=True)

    @property
    def _voiced(self) -> bool:
        return self._engine.phase in (Phase.SPEAKING, Phase.TRAILING)

    async def _ask_for_words(self, sequence: int) -> None:
        """Whether the voice that goes on and on says anything; if not, it is noise."""
        try:
            transcript = await self._transcriber.final()
        except GloveVoiceError as fault:
            log.warning("a long utterance could not be checked for words", code=fault.code)
            return
        if sequence == self._deciding.sequence and self._voiced:
            if has_words(transcript.text):
                self._host.present()
            else:
                self._over.barge_in.misfire()
                self._engine.discard("noise")
