"""Judging the end of a turn by the sound of the voice, whatever was said; and what all who listen to it share."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

import structlog

from audio.pcm import Pcm
from audio.turns.hold import Hold, Utterance, curved
from audio.turns.rules import RuleDetector

log = structlog.get_logger(__name__)

SHORTEST_MS = 250
LONGEST_MS = 1500
TIMEOUT_S = 0.35


class SoundScorer(Protocol):
    """Says how probable it is that a voice has finished its turn."""

    async def probability(self, pcm: Pcm) -> float:
        """Probability (0…1), from the utterance's last seconds at 16 kHz. May raise anything."""
        ...


class SoundDetector:
    """Judges by sound alone: any language, no punctuation needed. Dictation is still awaited.

    Reasons are ``voice:P``, and ``fallback:`` with the reason of the rules where the scorer fails or is late.

    Args:
        ear: judges the sound; shared between sessions, not closed here.
        rules: judge the text.
    """

    def __init__(self, ear: SoundScorer, rules: RuleDetector | None = None) -> None:
        self._ear = ear
        self._rules = rules or RuleDetector()

    async def judge(self, utterance: Utterance) -> Hold:
        """See ``TurnDetector``."""
        ruled = self._rules.decide(utterance.text, utterance.language)
        if ruled.reason in ("empty", "dictation"):
            return ruled
        probability = await listen(self._ear, utterance)
        if probability is None:
            return Hold(ruled.ms, f"fallback:{ruled.reason}")
        return Hold(curved(probability, SHORTEST_MS, LONGEST_MS, 1.0), f"voice:{probability:.2f}")

    async def hear(self, sound: Pcm) -> float | None:
        """See ``HearsEnds``."""
        return await score(self._ear, sound)


async def listen(ear: SoundScorer, utterance: Utterance) -> float | None:
    """What ``ear`` says of the utterance; None where it has no sound, or the scorer fails or is late."""
    return await score(ear, utterance.sound) if utterance.voice is None else utterance.voice


async def score(ear: SoundScorer, sound: Pcm) -> float | None:
    """What ``ear`` says of ``sound`` (16 kHz); None where that is empty, or the scorer fails or is late."""
    if sound.size == 0:
        return None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            probability = await ear.probability(sound)
    except Exception as fault:  # noqa: BLE001 - a listener that fails must not cost the turn
        log.warning("a turn could not be judged by its sound", error=repr(fault))
        return None
    return probability if math.isfinite(probability) else None
