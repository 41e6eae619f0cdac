"""The base of voices that run on the device and synthesise one sentence at a time."""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass

import numpy as np
import structlog

from agents.base.clock import now
from agents.base.errors import InputError
from agents.base.scope import Scope
from audio.pcm import Pcm, ms_to_samples
from audio.sentences import SentenceBuffer
from audio.tts.base import (
    AudioChunk,
    PieceDone,
    TtsAdapter,
    TtsDone,
    TtsEvent,
    TtsFault,
    WordTiming,
    as_voice_error,
)

log = structlog.get_logger(__name__)

SLICE_MS = 200
"""Longest stretch of sound in one ``AudioChunk``."""
PART_CHARS = 240
"""A piece longer than this is synthesised in parts, so that its beginning can be heard while the rest is made."""
MAX_WAITING_CHARS = 1_000_000


@dataclass(frozen=True)
class Speech:
    """Synthesised text: ``pcm`` at the voice's rate and, where the engine knows them, the timings of its words."""

    pcm: Pcm
    words: tuple[WordTiming, ...] | None = None


class SentenceTts(TtsAdapter):
    """Speaks pieces in order, one after the other, in a task of its own.

    Subclasses say how to get ready (``prepare``) and how to turn one sentence into sound (``render``). Text without
    any letter or digit makes no sound; its ``PieceDone`` comes all the same. The timings of a piece's words come with
    its first chunk; those of a very long piece with the first chunk of each of its parts. ``send_text(flush=True)`` is
    accepted and changes nothing: every piece is spoken at once.

    Args:
        lead_s: how far, in seconds of sound, synthesis may run ahead of real time; None for no limit. It bounds the
            memory that a long text takes while it is being played.
    """

    def __init__(self, *, lead_s: float | None = 30.0) -> None:
        super().__init__()
        self._lead_s = lead_s
        self._scope = Scope(type(self).__name__)
        self._pieces: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        self._waiting_chars = 0
        self._sent = 0
        self._flushed = False
        self._open = False
        self._destroyed = False
        self._started_at: float | None = None
        self._emitted_s = 0.0

    @abstractmethod
    async def prepare(self) -> None:
        """Load what is needed. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""

    @abstractmethod
    async def render(self, text: str) -> Speech:
        """The sound of ``text``, which has at least one letter or digit. Any exception becomes a ``TtsFault``."""

    async def stream(self, text: str) -> AsyncGenerator[Speech]:
        """The sound of ``text`` in stretches, for voices that make it little by little; by default all at once."""
        yield await self.render(text)

    @property
    def is_ready(self) -> bool:
        """Whether ``open`` has finished and the voice is not destroyed."""
        return self._open and not self._destroyed

    async def open(self) -> None:
        """Get ready and start speaking what was sent. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""
        await self.prepare()
        if self._destroyed or self._open:
            return
        self._open = True
        self._scope.spawn(self._run(), "speak")

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """Speak ``text`` after what was sent before.

        Ignored after ``destroy``. Raises ``InputError`` (``ERR_TTS_TEXT_TOO_LONG``) when a million characters wait,
        ``RuntimeError`` after ``flush``.
        """
        if self._destroyed:
            return
        if self._flushed:
            raise RuntimeError("text was sent to a voice after its flush")
        if self._waiting_chars + len(text) > MAX_WAITING_CHARS:
            raise InputError("ERR_TTS_TEXT_TOO_LONG", f"More than {MAX_WAITING_CHARS} characters wait to be spoken.")
        self._waiting_chars += len(text)
        self._pieces.put_nowait((self._sent, text))
        self._sent += 1

    def flush(self) -> None:
        """No more text will come; idempotent."""
        if not self._flushed:
            self._flushed = True
            self._pieces.put_nowait(None)

    async def destroy(self) -> None:
        """Drop everything now; no event follows; idempotent."""
        self._destroyed = True
        await self._scope.close()

    def parts(self, text: str) -> list[str]:
        """What of a piece is synthesised in one go; joined together, the parts are the piece."""
        return _parts(text)

    async def speak(self, piece: int, text: str) -> None:
        """Emit the sound of one piece."""
        offset = 0
        for part in self.parts(text):
            if not has_words(part):
                continue
            await self._keep_pace()
            async with contextlib.aclosing(self.stream(part)) as stretches:
                async for speech in stretches:
                    offset = await self._emit_speech(piece, speech, offset)

    def emit(self, event: TtsEvent) -> None:
        """Emit ``event`` unless the voice is destroyed; sound counts towards the lead."""
        if self._destroyed:
            return
        if isinstance(event, AudioChunk):
            if self._started_at is None:
                self._started_at = now()
            self._emitted_s += event.pcm.size / self.sample_rate_hz
        self.events.emit(event)

    async def _run(self) -> None:
        try:
            while (item := await self._pieces.get()) is not None:
                piece, text = item
                self._waiting_chars -= len(text)
                await self.speak(piece, text)
                if self._destroyed:
                    return
                self.emit(PieceDone(piece))
            self.emit(TtsDone())
        except Exception as fault:  # noqa: BLE001 - an engine may fail in any way; the session hears of it once
            log.warning("voice failed", voice=type(self).__name__, error=repr(fault))
            self.emit(TtsFault(as_voice_error(fault)))
            self._open = False

    async def _emit_speech(self, piece: int, speech: Speech, offset: int) -> int:
        """Emit ``speech`` in slices; returns the samples of the piece so far."""
        words = speech.words
        if words is not None and offset:
            words = tuple(WordTiming(word.word, word.start + offset, word.end + offset) for word in words)
        size = ms_to_samples(SLICE_MS, self.sample_rate_hz)
        for start in range(0, speech.pcm.size, size):
            await self._keep_pace()
            if self._destroyed:
                break
            self.emit(AudioChunk(speech.pcm[start : start + size], piece, words if start == 0 else None))
            await asyncio.sleep(0)
        return offset + speech.pcm.size

    async def _keep_pace(self) -> None:
        if self._lead_s is None or self._started_at is None:
            return
        ahead = self._emitted_s - (now() - self._started_at)
        if ahead > self._lead_s:
            await asyncio.sleep(ahead - self._lead_s)


def has_words(text: str) -> bool:
    """Whether ``text`` has anything to pronounce: a letter or a digit of any script."""
    return any(c.isalnum() for c in text)


async def joined(stretches: AsyncIterable[Speech]) -> Speech:
    """The sound of all ``stretches`` in one, without timings of words."""
    parts = [speech.pcm async for speech in stretches]
    return Speech(np.concatenate(parts) if parts else np.zeros(0, np.int16))


def _parts(text: str) -> list[str]:
    if len(text) <= PART_CHARS:
        return [text]
    buffer = SentenceBuffer()
    parts = buffer.push(text)
    rest = buffer.flush()
    return [*parts, rest] if rest else parts
