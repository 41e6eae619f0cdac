"""From probabilities of speech to segments of speech: the state machine behind neural detectors.

The rules are those of vad-web's frame processor, with the lowered bar ("ducking") that full duplex needs: while the
agent speaks, echo cancellation takes its voice away and mangles the user's, so a segment may begin at a lower
probability but needs stronger evidence to be confirmed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadEvent, VadMisfire

DUCKED_POSITIVE = 0.3
DUCKED_NEGATIVE = 0.2
WEAK_FACTOR = 3
"""How many times the minimum duration frames above the lowered bar alone must last to confirm a segment."""


@dataclass(frozen=True)
class SegmentSettings:
    """When a segment begins, is confirmed and ends.

    Attributes:
        positive: probability from which a frame counts as speech. The default suits a room; 0.5 a headset.
        negative: probability below which a frame counts as silence; between the two nothing changes.
        redemption_ms: silence that ends a segment, counted since the last frame of speech.
        min_speech_ms: speech that confirms a segment; the frames need not be consecutive.
    """

    positive: float = 0.35
    negative: float = 0.25
    redemption_ms: float = 450.0
    min_speech_ms: float = 250.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.negative <= self.positive <= 1.0:
            raise ValueError("0 <= negative <= positive <= 1 must hold")


class SegmentState(Enum):
    """Where the machine stands."""

    SILENT = "silent"
    TENTATIVE = "tentative"
    CONFIRMED = "confirmed"


class _Step(Enum):
    BEGIN = "begin"
    CONFIRM = "confirm"
    EXPIRE = "expire"


_TRANSITIONS = {
    (SegmentState.SILENT, _Step.BEGIN): SegmentState.TENTATIVE,
    (SegmentState.TENTATIVE, _Step.CONFIRM): SegmentState.CONFIRMED,
    (SegmentState.TENTATIVE, _Step.EXPIRE): SegmentState.SILENT,
    (SegmentState.CONFIRMED, _Step.EXPIRE): SegmentState.SILENT,
}


class SegmentMachine:
    """Turns one probability per frame into VAD events.

    Args:
        settings: thresholds and durations.
        frame_ms: length of one frame; durations are rounded to whole frames, at least one.
    """

    def __init__(self, settings: SegmentSettings | None = None, frame_ms: float = 32.0) -> None:
        self.settings = settings or SegmentSettings()
        self._min_frames = max(1, round(self.settings.min_speech_ms / frame_ms))
        self._redemption_frames = max(1, round(self.settings.redemption_ms / frame_ms))
        self._ducked = False
        self._state = SegmentState.SILENT
        self._last_speech = 0
        self._forget()

    @property
    def state(self) -> SegmentState:
        """Silent, or inside a tentative or confirmed segment."""
        return self._state

    @property
    def is_speaking(self) -> bool:
        """Whether a segment is open."""
        return self._state is not SegmentState.SILENT

    @property
    def positive(self) -> float:
        """The threshold of speech in force."""
        return min(DUCKED_POSITIVE, self.settings.positive) if self._ducked else self.settings.positive

    @property
    def negative(self) -> float:
        """The threshold of silence in force."""
        return min(DUCKED_NEGATIVE, self.settings.negative) if self._ducked else self.settings.negative

    def set_ducked(self, ducked: bool) -> None:
        """Lower the thresholds (or lift them again); an open segment goes on."""
        self._ducked = ducked

    def reset(self) -> None:
        """Drop the open segment silently."""
        self._state = SegmentState.SILENT
        self._forget()

    def feed(self, probability: float, sample: int) -> list[VadEvent]:
        """What the frame that ends at ``sample`` changes; ``SpeechProb`` comes first and always.

        What is no number counts as silence: it must not keep a segment open.
        """
        events: list[VadEvent] = [SpeechProb(sample, probability)]
        if math.isnan(probability):
            probability = 0.0
        if probability >= self.positive:
            self._speech(probability, sample, events)
        elif probability < self.negative and self.is_speaking:
            self._silence(sample, events)
        return events

    def _speech(self, probability: float, sample: int, events: list[VadEvent]) -> None:
        self._silent_frames = 0
        self._last_speech = sample
        if self._state is SegmentState.SILENT:
            self._move(_Step.BEGIN)
            events.append(SpeechStart(sample))
        self._weak_frames += 1
        self._strong_frames += probability >= self.settings.positive
        if self._state is SegmentState.TENTATIVE and self._is_confirmed():
            self._move(_Step.CONFIRM)
            events.append(SpeechRealStart(sample))

    def _silence(self, sample: int, events: list[VadEvent]) -> None:
        self._silent_frames += 1
        if self._silent_frames < self._redemption_frames:
            return
        confirmed = self._state is SegmentState.CONFIRMED
        self._move(_Step.EXPIRE)
        events.append(SpeechEnd(sample, self._last_speech) if confirmed else VadMisfire(sample))
        self._forget()

    def _is_confirmed(self) -> bool:
        return self._strong_frames >= self._min_frames or self._weak_frames >= WEAK_FACTOR * self._min_frames

    def _move(self, step: _Step) -> None:
        self._state = _TRANSITIONS[self._state, step]

    def _forget(self) -> None:
        self._strong_frames = 0
        self._weak_frames = 0
        self._silent_frames = 0
