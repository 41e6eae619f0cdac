"""Asking in a short silence what was said over the agent, so that it is decided before the silence is established."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import Pcm
from audio.stt.base import Transcript
from audio.turns.transcriber import Transcriber

log = structlog.get_logger(__name__)


class Glimpse:
    """One question at a time about the utterance in progress.

    Args:
        transcriber: is asked.
        scope: owns what is under way.
        tell: called with the answer, unless ``drop`` came first; an utterance that is not understood has no text.
    """

    def __init__(self, transcriber: Transcriber, scope: Scope, tell: Callable[[Transcript], None]) -> None:
        self._transcriber = transcriber
        self._scope = scope
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self._lent = False

    @property
    def running(self) -> bool:
        """Whether an answer is awaited."""
        return self._task is not None

    def begin(self, lent: Sequence[Pcm] = ()) -> None:
        """Ask. ``lent``: sound that the recogniser shall hear for this question only, since it may be no speech."""
        if self.running or not self._transcriber.foretells:
            return
        self._lent = bool(lent)
        for chunk in lent:
            self._transcriber.append(chunk)
        self._task = self._scope.spawn(self._ask(), "glimpse")

    def drop(self) -> None:
        """The answer is not wanted any more; idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._take_back()

    async def _ask(self) -> None:
        try:
            transcript = await self._transcriber.final()
        except GloveVoiceError as fault:
            log.debug("speech over the agent was not recognised; it is asked again at its end", code=fault.code)
            transcript = Transcript("")
        self._task = None
        self._take_back()
        self._tell(transcript)

    def _take_back(self) -> None:
        if self._lent:
            self._lent = False
            self._transcriber.clear()
