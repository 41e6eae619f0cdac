"""The contracts of speech recognisers: streaming ones emit partials and finals, segment ones are asked.

The turn engine owns all audio buffering for segment recognisers; they hold no per-conversation state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ClassVar, Literal

from agents.base import clock
from agents.base.emitter import Emitter
from audio.pcm import Pcm


@dataclass(frozen=True)
class Transcript:
    """The text of one stretch of audio.

    Attributes:
        text: trimmed; empty when nothing was said.
        language: BCP-47 primary tag.
        score: mean log probability per token (0 is certain); None where the engine has none.
        no_speech: probability that there is no speech at all, 0…1; None where the engine has none.
    """

    text: str
    language: str = "en"
    score: float | None = None
    no_speech: float | None = None


class SegmentStt(ABC):
    """Transcribes a whole stretch of 16 kHz PCM. Blocking; called off the loop, possibly from several threads."""

    kind: Literal["segment"] = "segment"
    cost_s: float = 0.1
    """Declared duration of one call on the virtual clock."""
    max_seconds: float = 30.0
    """Longest stretch that one call understands."""
    pad_s: float = 0.0
    """Silence that the engine itself puts behind each stretch; what is missing is added before it is asked."""

    @abstractmethod
    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """Transcribe 16 kHz PCM; ``language`` None lets the engine find it out. Raises ``GloveVoiceError``."""

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """``transcribe`` off the loop. Engines that are asynchronous by nature override this instead."""
        return await clock.infer(lambda: self.transcribe(pcm, language), cost_s=self.cost_s, executor=executor)

    def close(self) -> None:
        """Release the model; idempotent."""


@dataclass(frozen=True)
class SttEvent:
    """Base of the events of streaming recognisers."""

    type: ClassVar[str] = "stt_event"


@dataclass(frozen=True)
class SttPartial(SttEvent):
    """What the recogniser currently believes of the utterance."""

    type: ClassVar[str] = "partial"
    text: str


@dataclass(frozen=True)
class SttFinal(SttEvent):
    """A finished utterance."""

    type: ClassVar[str] = "final"
    text: str
    language: str = "en"


@dataclass(frozen=True)
class SttFault(SttEvent):
    """Something went wrong; the adapter tries to recover by itself until ``SttClosed``.

    From an adapter that is connected it stands for the final that was due next, which will not come.
    """

    type: ClassVar[str] = "error"
    error: Exception


@dataclass(frozen=True)
class SttClosed(SttEvent):
    """The stream ended and will not come back by itself."""

    type: ClassVar[str] = "close"


class StreamingStt(ABC):
    """A recogniser with a running session, fed with 16 kHz PCM."""

    kind: Literal["streaming"] = "streaming"

    def __init__(self) -> None:
        self.events = Emitter()

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether audio sent now is heard."""

    @property
    @abstractmethod
    def current_partial(self) -> str:
        """The last partial, readable synchronously."""

    @abstractmethod
    async def connect(self) -> None:
        """Open the session. Raises ``GloveVoiceError`` (``ERR_STT_CONNECTION``)."""

    @abstractmethod
    def send_audio(self, pcm: Pcm) -> None:
        """Feed audio; dropped while not connected."""

    @abstractmethod
    def flush_utterance(self) -> None:
        """Ask for the final of what was fed so far."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Close; idempotent; ``connect`` works again afterwards."""


Stt = SegmentStt | StreamingStt
