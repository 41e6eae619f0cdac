"""The contract of wake word detectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from audio.pcm import Pcm


@dataclass(frozen=True)
class WakeHeard:
    """A wake phrase was said.

    Attributes:
        phrase: as a person would write it, for example ``Hey Jarvis``.
        sample: index on the 16 kHz stream (since creation, not since ``reset``) where it was recognised; a few hundred
            milliseconds after its last sound.
    """

    phrase: str
    sample: int


class WakeDetector(ABC):
    """Listens for wake phrases in one stream of 16 kHz PCM. Cheap enough to run on the loop, for ever.

    Attributes:
        phrases: what it listens for, as people write it.
    """

    phrases: tuple[str, ...] = ()

    @abstractmethod
    def process(self, pcm: Pcm) -> list[WakeHeard]:
        """Feed PCM of any length (also none); returns the phrases recognised in it, in order."""

    @abstractmethod
    def reset(self) -> None:
        """Forget what was heard so far: the next sample does not follow the last one. Sample indexes go on."""

    def for_playback(self) -> WakeDetector | None:
        """A new, more easily excited detector of the same phrases, to listen to what the appliance itself plays; None
        where there can be none. The caller closes it."""
        return None

    def close(self) -> None:
        """Release the model; idempotent."""
