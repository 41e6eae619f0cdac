"""How long to wait after the voice has stopped before the turn counts as finished, and who may say so.

The wait (the *hold*) begins where the voice detector has established silence, however late its length is known. What
judges is a detector; several kinds exist (``rules``, ``scored``, ``combined``) and others can be written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from audio.pcm import Pcm


@dataclass(frozen=True)
class Hold:
    """Wait ``ms`` milliseconds beyond the established silence; ``reason`` is for logs and metrics."""

    ms: int
    reason: str


@dataclass(frozen=True)
class HoldTimes:
    """Holds in milliseconds. None may be shorter than the time in which resumed speech is noticed (about 250 ms)."""

    command: int = 250
    question: int = 400
    statement: int = 600
    unfinished: int = 1200
    dictation: int = 2000


def no_sound() -> Pcm:
    """What an utterance sounds like whose sound is not kept."""
    return np.zeros(0, np.int16)


@dataclass(frozen=True)
class Utterance:
    """What a detector judges.

    Attributes:
        text: what was said; may be wrong, and is punctuated only if the recogniser does that.
        language: BCP-47 primary tag.
        sound: its last seconds at 16 kHz, with its pre-roll if it is short, and a little of the silence behind it.
            Empty where there is none.
        context: what was said before, as (``user`` or ``assistant``, text), oldest first.
        voice: probability (0…1) that the voice in ``sound`` has finished, where somebody has listened already.
    """

    text: str
    language: str = "en"
    sound: Pcm = field(default_factory=no_sound, repr=False, compare=False)
    context: tuple[tuple[str, str], ...] = ()
    voice: float | None = None


class TurnDetector(Protocol):
    """Judges whether an utterance is a finished turn."""

    async def judge(self, utterance: Utterance) -> Hold:
        """The hold for ``utterance``. Never raises and never takes long: a detector that fails answers by its rules."""
        ...


def curved(probability: float, shortest_ms: int, longest_ms: int, curve: float) -> int:
    """The hold for a probability (0…1) that the turn is over: the surer, the shorter, without a threshold."""
    doubt = 1.0 - min(1.0, max(0.0, probability))
    return round(shortest_ms + (longest_ms - shortest_ms) * doubt**curve)
