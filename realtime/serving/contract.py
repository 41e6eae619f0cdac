"""What a session is served with: something that hears, something that thinks, something that speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agents.core.messages import Message, TokenUsage
from agents.core.model import ToolSpec
from audio.stt.base import SegmentStt
from audio.tts.base import TtsFactory
from audio.turns.hold import TurnDetector
from audio.vad.base import VadAdapter


@dataclass(frozen=True)
class Question:
    """What an answer is wanted to.

    Attributes:
        instructions: the client's; empty where it gave none.
        messages: the conversation, oldest first; the last is what there is to answer.
        tools: the client's, which it runs itself.
        own_tools: whether the mind may use tools of its own as well.
        language: of the user (BCP-47 primary tag).
    """

    instructions: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    own_tools: bool = True
    language: str = "en"


@dataclass(frozen=True)
class TextPiece:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True)
class ClientCall:
    """A tool of the client's is called; ``arguments`` is JSON. The answer ends with its calls."""

    name: str
    arguments: str


Thought = TextPiece | ClientCall


class Mind(Protocol):
    """Answers."""

    async def answer(self, question: Question, tell: Callable[[Thought], None]) -> TokenUsage:
        """Answer ``question`` piece by piece; returns when that was all. Cancelling it stops it.

        Raises:
            GloveError: the model failed.
        """
        ...


@dataclass(frozen=True)
class Ears:
    """How a voice detector shall be: ``threshold`` is the probability of speech, ``silence_ms`` ends a turn."""

    threshold: float
    silence_ms: int


@dataclass(frozen=True)
class Engine:
    """What all sessions of a server share.

    Attributes:
        stt: recognises whole utterances.
        voices: makes voices.
        vad: makes a voice detector for one stream. Blocking.
        detector: makes what judges whether somebody has finished, for one session.
        mind: answers.
        language: BCP-47 primary tag spoken before anything was heard.
        hearing: held by the one session whose speech is being recognised: the processor belongs to all.
    """

    stt: SegmentStt
    voices: TtsFactory
    vad: Callable[[Ears], VadAdapter]
    detector: Callable[[], TurnDetector]
    mind: Mind
    language: str = "en"
    hearing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


class Line(Protocol):
    """The connection with one client."""

    async def receive(self) -> str | None:
        """The next message; None when the client has hung up. Raises ``Refusal`` for what is no text."""
        ...

    async def send(self, text: str) -> None:
        """Send a message. Raises ``ConnectionError`` where the client is gone."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Hang up; idempotent."""
        ...
