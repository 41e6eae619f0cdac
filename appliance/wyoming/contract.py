"""What a client of the Wyoming server can be served with, and how a request is told that it asks too much."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wyoming.event import Event

from audio.pcm import Pcm
from audio.stt.base import SegmentStt
from audio.tts.base import TtsFactory
from audio.vad.base import VadAdapter
from audio.wake.base import WakeDetector

Send = Callable[[Event], Awaitable[None]]
"""Sends an event to the client. Raises ``ConnectionError`` where that is gone, or does not read."""

Job = Callable[[Send], Awaitable[None]]
"""Work that takes long: done one after the other per client, and given up when the client hangs up."""


class Answer(Protocol):
    """Answers a typed line."""

    async def __call__(self, text: str, language: str | None, conversation: str | None) -> tuple[str, str]:
        """The answer and the name of the conversation that goes on. Raises ``GloveError``."""
        ...


class Refused(Exception):
    """A client asks for something that it cannot have; its words are for the client."""


@dataclass(frozen=True)
class Lent:
    """What is lent.

    Attributes:
        stt: recognises whole utterances; None where this machine does not.
        stt_languages: what it understands, BCP-47.
        voices: makes voices.
        voice_languages: what they speak, BCP-47; the first where a client does not say.
        vad: makes a voice detector. Blocking.
        wake: makes a detector of the named wake words. Blocking.
        wake_words: names of all wake words, the usual one first.
        answer: answers typed lines; None where that is not wanted.
        version: of this program.
        turn: held by the one client whose speech is being recognised: the processor belongs to the house.
    """

    stt: SegmentStt | None
    stt_languages: tuple[str, ...]
    voices: TtsFactory
    voice_languages: tuple[str, ...]
    vad: Callable[[], VadAdapter]
    wake: Callable[[Sequence[str]], WakeDetector]
    wake_words: tuple[str, ...]
    answer: Answer | None
    version: str
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


class Hearer(Protocol):
    """What becomes of the sound of one client."""

    async def begin(self) -> None:
        """A stream begins; the last one is forgotten. Raises ``GloveError`` where a model cannot be loaded."""
        ...

    async def hear(self, pcm: Pcm) -> None:
        """More of it, 16 kHz. Raises ``Refused``."""
        ...

    async def finish(self) -> Job | None:
        """The stream has ended; what is left to do."""
        ...

    def close(self) -> None:
        """The client is gone, or wants something else; idempotent."""
        ...
