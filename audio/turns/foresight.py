"""Telling the session of a turn before it is committed, so that its answer can be prepared while the hold runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.stt.base import Transcript
from audio.turns.contract import Committed, TurnHost
from audio.turns.transcriber import Transcriber

log = structlog.get_logger(__name__)

LIKELY_MS = 800
"""A longer hold says that the user will most likely go on."""

TRIES = 3
"""How often a turn may be foreseen before it is committed."""


class Foresight:
    """Says what the utterance in progress would be as a turn, once when that is likely, and when it no longer is.

    Args:
        host: is told.
        transcriber: knows the text of the utterance.
        judge: the turn that a transcript would be, with its hold; None if it would be none.
        scope: owns what is under way.
        enabled: whether anybody wants to know.
    """

    def __init__(
        self,
        host: TurnHost,
        transcriber: Transcriber,
        judge: Callable[[Transcript], Awaitable[Committed | None]],
        scope: Scope,
        *,
        enabled: bool,
    ) -> None:
        self._host = host
        self._transcriber = transcriber
        self._judge = judge
        self._scope = scope
        self._looking: asyncio.Task[None] | None = None
        self._enabled = enabled
        self._told = ""
        self._tries = 0

    def trailing(self) -> None:
        """A silence has begun, and what came before it is being recognised."""
        if self._enabled and self._transcriber.foretells and self._tries < TRIES:
            self._stop_looking()
            self._looking = self._scope.spawn(self._look(), "foresee")

    def decided(self, turn: Committed) -> None:
        """The silence is established; ``turn`` is committed when its hold is over."""
        self._stop_looking()
        wanted = self._enabled and self._tries < TRIES and turn.text != self._told
        if wanted and 0 < turn.hold_ms <= LIKELY_MS:
            self._told = turn.text
            self._tries += 1
            self._host.turn_likely(turn)

    def gone(self) -> None:
        """The user speaks on."""
        self._stop_looking()
        if self._told:
            self._told = ""
            self._host.turn_unlikely()

    def over(self, *, committed: bool = False) -> None:
        """The utterance is over: a turn, or nothing."""
        if committed:
            self._told = ""
        self.gone()
        self._tries = 0

    async def _look(self) -> None:
        try:
            turn = await self._judge(await self._transcriber.final())
        except GloveVoiceError as fault:
            log.debug("a likely turn was not recognised; it is asked again when it counts", code=fault.code)
            return
        self._looking = None
        if turn is not None:
            self.decided(turn)

    def _stop_looking(self) -> None:
        task, self._looking = self._looking, None
        if task is not None:
            task.cancel()
