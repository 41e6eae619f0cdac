"""Places with audio in and out.

An ``AudioIO`` delivers capture frames of 10 ms at 16 kHz and owns the ``Player`` that holds what is to be played. Both
run on one media clock: ``samples_captured`` counts 16 kHz samples since the room opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from audio.io.player import Player
from audio.pcm import Pcm
from audio.vad.base import VadAdapter

OnFrame = Callable[[Pcm, int], None]
"""Called with one capture frame (160 samples at 16 kHz) and the sample index of its end."""


@dataclass(frozen=True)
class RoomHealth:
    """How well a room works.

    Attributes:
        state: ``ok``; ``degraded`` when it works in part (no microphone yet, no echo cancellation); ``down``.
        reason: one sentence for people; empty when ok.
        values: figures such as ``erle_db`` or ``underruns``.
    """

    state: Literal["ok", "degraded", "down"] = "ok"
    reason: str = ""
    values: Mapping[str, float] = field(default_factory=dict[str, float])


class AudioIO(ABC):
    """A room's sound. ``player`` exists from construction; frames flow between ``open`` and ``close``.

    Attributes:
        player: what is to be played.
        vad: the room's own voice detector where it has a front end of its own; a session uses it instead of another.
        pause_owner: set by the session: whether it knows of a pause of the player and will end it. A front end that
            pauses the player by itself resumes it when nobody owns the pause.
        full_duplex: whether the capture frames are free of the player's own sound (files, echo cancelled). Where they
            are not, a session does not listen for speech while the player sounds.
        output_latency_s: from ``Player.pull`` to the ear.
    """

    player: Player
    vad: VadAdapter | None = None
    pause_owner: Callable[[], bool] | None = None
    full_duplex: bool = True
    output_latency_s: float = 0.0

    @property
    def health(self) -> RoomHealth:
        """How well the room works."""
        return RoomHealth()

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
