"""Places with audio in and out.

An ``AudioIO`` delivers capture frames of 10 ms at 16 kHz and owns the ``Player`` that holds what is to be played. Both
run on one media clock: ``samples_captured`` counts 16 kHz samples since the room opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from audio.io.player import Player
from audio.pcm import Pcm

OnFrame = Callable[[Pcm, int], None]
"""Called with one capture frame (160 samples at 16 kHz) and the sample index of its end."""


class AudioIO(ABC):
    """A room's sound. ``player`` exists from construction; frames flow between ``open`` and ``close``."""

    player: Player

    @abstractmethod
    async def open(self, on_frame: OnFrame) -> None:
        """Start capturing and playing. Raises ``GloveVoiceError`` (``ERR_MIC_UNAVAILABLE``, ``ERR_MIC_DENIED``)."""

    @abstractmethod
    async def close(self) -> None:
        """Stop; idempotent."""

    @property
    @abstractmethod
    def time_s(self) -> float:
        """Seconds on the room's media clock."""
