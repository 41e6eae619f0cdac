"""The contract of voices.

One ``TtsAdapter`` speaks one model response: text goes in sentence by sentence, PCM comes out with the span of text it
says. A ``TtsFactory`` makes a fresh adapter per response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from agents.base.emitter import Emitter
from agents.base.errors import GloveError, GloveVoiceError
from audio.pcm import Pcm


@dataclass(frozen=True)
class WordTiming:
    """When a word is spoken, in samples of the adapter's rate from the start of its piece of text."""

    word: str
    start: int
    end: int


@dataclass(frozen=True)
class TtsEvent:
    """Base of voice events."""

    type: ClassVar[str] = "tts_event"


@dataclass(frozen=True)
class AudioChunk(TtsEvent):
    """Sound.

    Attributes:
        pcm: at the adapter's ``sample_rate_hz``.
        piece: index of the ``send_text`` call whose text is spoken here (0 is the first), or None if unknown.
        words: timings of all words of the piece, on its first chunk, where the engine knows them. A very long piece
            may be made in parts; each part's words then come with its own first chunk.
    """

    type: ClassVar[str] = "audio_chunk"
    pcm: Pcm
    piece: int | None = None
    words: tuple[WordTiming, ...] | None = None


@dataclass(frozen=True)
class PieceDone(TtsEvent):
    """All sound of piece ``piece`` has been emitted."""

    type: ClassVar[str] = "piece_done"
    piece: int


@dataclass(frozen=True)
class TtsDone(TtsEvent):
    """Everything sent before ``flush`` has been emitted; once."""

    type: ClassVar[str] = "done"


@dataclass(frozen=True)
class TtsFault(TtsEvent):
    """The voice failed; nothing follows."""

    type: ClassVar[str] = "error"
    error: Exception


class TtsAdapter(ABC):
    """Speaks one response. Events: ``AudioChunk``, ``PieceDone``, ``TtsDone``, ``TtsFault``.

    ``reports_pieces`` says whether ``PieceDone`` is emitted; producers of text use it to keep pace.
    """

    reports_pieces: bool = True

    def __init__(self) -> None:
        self.events = Emitter()

    @property
    @abstractmethod
    def sample_rate_hz(self) -> int:
        """Rate of the emitted PCM."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether ``open`` has finished and the adapter is not destroyed."""

    @abstractmethod
    async def open(self) -> None:
        """Get ready. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""

    @abstractmethod
    def send_text(self, text: str, *, flush: bool = False) -> None:
        """Speak ``text`` (one piece) after what was sent before; safe before ``open`` has finished."""

    @abstractmethod
    def flush(self) -> None:
        """No more text will come; ``TtsDone`` follows the last sound."""

    @abstractmethod
    async def destroy(self) -> None:
        """Drop everything now; no event follows; idempotent."""


TtsFactory = Callable[[str], TtsAdapter]
"""Makes an adapter for a language (BCP-47 primary tag)."""


def as_voice_error(fault: Exception) -> GloveError:
    """``fault`` as an error with a code: itself if it has one, else ``ERR_TTS_SYNTHESIS`` with ``fault`` behind it."""
    if isinstance(fault, GloveError):
        return fault
    return GloveVoiceError("ERR_TTS_SYNTHESIS", f"The voice failed: {fault}", cause=fault)
