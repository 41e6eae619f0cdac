"""Turns from a recogniser that hears everything: joins ``Following`` with the turn engine."""

from __future__ import annotations

from typing import Protocol

import structlog

from audio.turns.addressed import Addressed
from audio.turns.contract import Phase, TurnHost
from audio.turns.deciding import Deciding
from audio.turns.following import Following
from audio.turns.hold import Hold
from audio.turns.over_agent import OverAgent
from audio.turns.progress import Progress
from audio.turns.streaming import StreamingTranscriber

log = structlog.get_logger(__name__)


class LiveEngine(Protocol):
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

    def restart_detector(self) -> None:
        """Start the voice detector anew."""
        ...


class Live:
    """What ``Following`` works for (see ``Followed``), and the engine's way to it.

    Args:
        engine: has the phases.
        host: the session.
        addressed: what may become a turn.
        transcriber: knows the words.
        deciding: makes turns of them.
        over: what is said over the agent.
        progress: the utterance.
    """

    def __init__(
        self,
        engine: LiveEngine,
        host: TurnHost,
        addressed: Addressed,
        transcriber: StreamingTranscriber,
        deciding: Deciding,
        over: OverAgent,
        progress: Progress,
    ) -> None:
        self._engine = engine
        self._host = host
        self._addressed = addressed
        self._transcriber = transcriber
        self._deciding = deciding
        self._over = over
        self._progress = progress
        self.following = Following(self, transcriber)

    @property
    def phase(self) -> Phase:
        """See ``Followed``."""
        return self._engine.phase

    def partial(self, text: str) -> None:
        """The words not taken yet have become ``text``."""
        grown = self.following.partial(text, self._progress.sample)
        if grown and self.phase is Phase.HOLDING and not self._progress.by_key:
            self._deciding.cancel()
            self._deciding.resume()
        unowned = self._host.agent_busy() or not self.following.fresh(self._progress.sample)
        if self.phase is Phase.QUIET and not unowned:
            self._host.user_partial(self._addressed.trim(text))

    def agent_has_floor(self) -> bool:
        """See ``Followed``."""
        return self._over.agent_has_floor

    async def judge_live(self) -> Hold:
        """See ``Followed``."""
        return await self._deciding.judge(await self._transcriber.final())

    def take_live(self, reason: str) -> None:
        """See ``Followed``."""
        if self._deciding.awaited or self.phase not in (Phase.QUIET, Phase.SPEAKING, Phase.TRAILING):
            return
        if self.phase is not Phase.QUIET:
            self._engine.fall_silent()
        self._deciding.begin(now=True, reason=reason)

    def drop_live(self, reason: str) -> None:
        """See ``Followed``."""
        if self.phase is Phase.QUIET and not self._deciding.awaited:
            self._host.present()
            self._engine.discard(reason)

    def detector_deaf(self) -> None:
        """See ``Followed``."""
        log.warning("the voice detector is deaf")
        self._engine.restart_detector()
