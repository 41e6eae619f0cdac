"""Judging the end of a turn by a model of the text: the surer it is that nothing follows, the shorter the hold.

A threshold would make one hold of a doubtful and a hopeless case; a curve does not.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Protocol

import structlog

from audio.turns.hold import Hold, Utterance, curved
from audio.turns.rules import RuleDetector

log = structlog.get_logger(__name__)

QUESTION_FROM = 0.2
"""A text that is a question by its form needs no more than this probability to be answered soonest."""


class TextScorer(Protocol):
    """Says how probable it is that a text is a finished turn."""

    async def probability(self, text: str, context: tuple[tuple[str, str], ...]) -> float:
        """Probability (0…1). ``context``: what was said before, (role, text), oldest first. May raise anything."""
        ...


@dataclass(frozen=True)
class ScoredTimes:
    """How a probability becomes a hold.

    Attributes:
        shortest_ms: for certainty.
        longest_ms: for the opposite.
        curve: exponent of the doubt; above 1 the hold falls quickly with the first signs of an end.
        timeout_ms: longest wait for the scorer.
    """

    shortest_ms: int = 400
    longest_ms: int = 2800
    curve: float = 1.5
    timeout_ms: int = 350


class ScoredDetector:
    """Judges by a scorer, and by rules where the scorer fails, is late or answers nonsense.

    Reasons are ``eou:P``, ``eou-q:P`` for a question, and ``fallback:`` with the reason of the rules.

    Args:
        scorer: the model.
        rules: judge the same text.
        times: see ``ScoredTimes``.
    """

    def __init__(self, scorer: TextScorer, rules: RuleDetector | None = None, times: ScoredTimes | None = None) -> None:
        self._scorer = scorer
        self._rules = rules or RuleDetector()
        self._times = times or ScoredTimes()

    async def judge(self, utterance: Utterance) -> Hold:
        """See ``TurnDetector``."""
        ruled = self._rules.decide(utterance.text, utterance.language)
        if ruled.reason == "empty":
            return ruled
        probability = await self._probability(utterance)
        if probability is None:
            return Hold(ruled.ms, f"fallback:{ruled.reason}")
        times = self._times
        if ruled.reason == "question" and probability >= QUESTION_FROM:
            return Hold(times.shortest_ms, f"eou-q:{probability:.2f}")
        ms = curved(probability, times.shortest_ms, times.longest_ms, times.curve)
        if ruled.reason == "dictation":
            ms = max(ms, ruled.ms)
        return Hold(ms, f"eou:{probability:.2f}")

    async def _probability(self, utterance: Utterance) -> float | None:
        try:
            async with asyncio.timeout(self._times.timeout_ms / 1000):
                probability = await self._scorer.probability(utterance.text, utterance.context)
        except Exception as fault:  # noqa: BLE001 - whatever a scorer does, the turn goes on by the rules
            log.warning("a turn could not be scored", error=repr(fault))
            return None
        return probability if math.isfinite(probability) else None
