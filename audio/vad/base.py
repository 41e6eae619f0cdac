"""The contract of voice activity detectors.

``process`` takes any amount of 16 kHz PCM and returns what happened in it, in order, each event stamped with the
sample index (since creation, not since ``reset``) at the end of the frame that caused it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from audio.pcm import Pcm


@dataclass(frozen=True)
class VadEvent:
    """Base of all VAD events. ``sample``: index on the 16 kHz stream of the end of the deciding frame."""

    type: ClassVar[str] = "vad_event"
    sample: int

    def later(self, samples: int) -> Self:
        """The same event on a stream that is so many samples further on (or, negative, behind)."""
        return replace(self, sample=self.sample + samples) if samples else self


@dataclass(frozen=True)
class SpeechStart(VadEvent):
    """Speech began: tentative for adapters with ``supports_real_start``, established for others."""

    type: ClassVar[str] = "speech_start"


@dataclass(frozen=True)
class SpeechRealStart(VadEvent):
    """Speech outlived the minimum duration; once per segment."""

    type: ClassVar[str] = "speech_real_start"


@dataclass(frozen=True)
class VadMisfire(VadEvent):
    """A tentative start is taken back; replaces ``speech_end``."""

    type: ClassVar[str] = "vad_misfire"


@dataclass(frozen=True)
class SpeechEnd(VadEvent):
    """Trailing silence (the redemption time) is exhausted.

    ``last_speech``: sample index where speech was last heard.
    """

    type: ClassVar[str] = "speech_end"
    last_speech: int = 0

    def later(self, samples: int) -> Self:
        """See ``VadEvent``."""
        return replace(self, sample=self.sample + samples, last_speech=self.last_speech + samples)


@dataclass(frozen=True)
class SpeechProb(VadEvent):
    """Probability of speech of one frame, 0…1."""

    type: ClassVar[str] = "speech_prob"
    probability: float = 0.0


class VadAdapter(ABC):
    """A voice activity detector with the state of one stream."""

    supports_real_start: bool = False

    @property
    @abstractmethod
    def is_speaking(self) -> bool:
        """Whether a segment is open."""

    @abstractmethod
    def process(self, pcm: Pcm) -> list[VadEvent]:
        """Feed 16 kHz PCM of any length (also none); returns the events in order."""

    @abstractmethod
    def reset(self) -> None:
        """Forget the current segment and its state, emitting nothing."""

    def rebuild(self) -> None:
        """It has stopped answering: start anew, with a fresh model where there is one. Default: ``reset``."""
        self.reset()

    def set_ducked(self, ducked: bool) -> None:
        """Lower the bar while the agent speaks (echo cancellation weakens the user's voice). Default: ignored."""

    def set_resting(self, resting: bool) -> None:
        """Nobody listens for speech now (or somebody does again): the detector may save work. Default: ignored."""

    def close(self) -> None:
        """Release the model; idempotent."""
