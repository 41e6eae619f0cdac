"""Listening to how a voice ends while its words are still being recognised."""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

from agents.base.scope import Scope
from audio.pcm import Pcm
from audio.turns.hold import TurnDetector


@runtime_checkable
class HearsEnds(Protocol):
    """A detector that can say something before the words are known."""

    async def hear(self, sound: Pcm) -> float | None:
        """Probability (0…1) that the voice in ``sound`` has finished; None where nobody can tell. Never raises."""
        ...


class Impression:
    """One question at a time about the sound of an utterance, asked when a silence begins.

    Args:
        detector: is asked, if it is one that can say anything.
        scope: owns what is under way.
    """

    def __init__(self, detector: TurnDetector, scope: Scope) -> None:
        self._detector = detector if isinstance(detector, HearsEnds) else None
        self._scope = scope
        self._task: asyncio.Task[float | None] | None = None
        self._end = 0

    def begin(self, sound: Pcm, end: int) -> None:
        """Ask about ``sound``; ``end``: the sample at which the voice in it was heard last."""
        if self._detector is None or (self._task is not None and self._end == end):
            return
        self.drop()
        self._end = end
        self._task = self._scope.spawn(self._detector.hear(sound), "impression")

    async def of(self, end: int) -> float | None:
        """The answer; None where that of a voice last heard at ``end`` was not asked for, or is not known."""
        task = self._task
        if task is None or self._end != end:
            return None
        await asyncio.wait([task])  # dropped meanwhile: whoever waits is told that nothing is known
        return None if task.cancelled() else task.result()

    def drop(self) -> None:
        """The answer is not wanted any more; idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
