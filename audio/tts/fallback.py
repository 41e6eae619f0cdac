"""Two voices: where the first fails, the second goes on, from the word at which it fell silent if that is known."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from agents.base.backoff import Backoff
from agents.base.errors import GloveError, GloveVoiceError
from agents.base.scope import Scope
from audio.providers.standby import OnTrouble, Standby
from audio.tts.base import (
    AudioChunk,
    PieceDone,
    TtsAdapter,
    TtsDone,
    TtsEvent,
    TtsFactory,
    TtsFault,
    WordTiming,
    as_voice_error,
)
from audio.tts.local import has_words

OPEN_PATIENCE_S = 3.0
"""How long the first voice may take to open, in seconds."""

SOUND_PATIENCE_S = 4.0
"""How long it may take, in seconds, to the next sound while text waits."""


class FallbackTts:
    """A ``TtsFactory`` whose voices are those of ``first``, or of ``second`` where that is in trouble.

    Args:
        first: preferred.
        second: takes over.
        backoff: how long the first is left alone after each failure.
        on_trouble: told of trouble, at most once per half minute.
    """

    def __init__(
        self,
        first: TtsFactory,
        second: TtsFactory,
        *,
        backoff: Backoff | None = None,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        self.first = first
        self.second = second
        self._standby = Standby(type(first).__name__, backoff, on_trouble)

    def __call__(self, language: str) -> TtsAdapter:
        """A fresh voice for one response."""
        return FallbackVoice(self.first, self.second, language, self._standby)


@dataclass
class _Said:
    """What was emitted of a piece: seconds of sound, and when its words end, where that is known."""

    seconds: float = 0.0
    ends_s: list[float] = field(default_factory=list[float])

    @property
    def words(self) -> int:
        """How many words were emitted to their end."""
        return sum(end_s <= self.seconds for end_s in self.ends_s)


class FallbackVoice(TtsAdapter):
    """One response. ``sample_rate_hz`` is that of the voice that speaks, and may change between chunks.

    A piece that the first voice broke off is finished by the second: from the next word where the first gave the times
    of its words, else from its beginning.
    """

    def __init__(self, first: TtsFactory, second: TtsFactory, language: str, standby: Standby) -> None:
        super().__init__()
        self._second = second
        self._language = language
        self._standby = standby
        self._on_second = not standby.may_try
        self._texts: list[str] = []
        self._said: defaultdict[int, _Said] = defaultdict(_Said)
        self._begun_s: dict[int, float] = {}
        self._pieces: list[int] = []
        self._done = 0
        self._flushed = self._opened = self._destroyed = self._over = False
        self._sign = asyncio.Event()
        self._scope = Scope("voice with a fallback")
        self._voice = self._follow((second if self._on_second else first)(language))

    @property
    def reports_pieces(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the voice that speaks does."""
        return self._voice.reports_pieces

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the voice that speaks."""
        return self._voice.sample_rate_hz

    @property
    def is_ready(self) -> bool:
        """See ``TtsAdapter``."""
        return self._opened and not self._destroyed

    async def open(self) -> None:
        """Open the first voice, else the second. Raises what the second raises."""
        if self._on_second:
            await self._voice.open()
        else:
            await self._open_first()
        self._opened = True
        if not self._on_second and not self._destroyed:
            self._scope.spawn(self._watch(), "watch")

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """See ``TtsAdapter``. Raises ``RuntimeError`` after ``flush``."""
        if self._destroyed:
            return
        if self._flushed:
            raise RuntimeError("text was sent to a voice after its flush")
        self._texts.append(text)
        self._pieces.append(len(self._texts) - 1)
        if len(self._texts) == 1:
            self._sign.set()
        self._voice.send_text(text, flush=flush)

    def flush(self) -> None:
        """See ``TtsAdapter``."""
        if not self._flushed and not self._destroyed:
            self._flushed = True
            self._sign.set()
            self._voice.flush()

    async def destroy(self) -> None:
        """See ``TtsAdapter``."""
        self._destroyed = True
        await self._scope.close()
        await self._voice.destroy()

    async def _open_first(self) -> None:
        try:
            async with asyncio.timeout(OPEN_PATIENCE_S):
                await self._voice.open()
            return
        except TimeoutError:
            fault: GloveError = _slow(OPEN_PATIENCE_S)
        except Exception as failure:  # noqa: BLE001 - a voice may fail in any way
            fault = as_voice_error(failure)
        if not self._destroyed:
            failed = self._switch(fault)
            await failed.destroy()
            await self._voice.open()

    def _follow(self, voice: TtsAdapter) -> TtsAdapter:
        voice.events.on(TtsEvent, lambda event: self._take(voice, event))
        return voice

    def _take(self, voice: TtsAdapter, event: TtsEvent) -> None:
        if voice is not self._voice or self._over or self._destroyed:
            return
        self._sign.set()
        match event:
            case AudioChunk():
                self.events.emit(self._placed(event))
            case PieceDone():
                self._done = self._pieces[event.piece] + 1
                self.events.emit(PieceDone(self._done - 1))
            case TtsFault() if not self._on_second:
                failed = self._switch(as_voice_error(event.error))
                self._scope.spawn(self._take_over(failed), "take over")
            case _:
                self._over = True
                if not self._on_second and isinstance(event, TtsDone):
                    self._standby.succeeded()
                self.events.emit(event)

    def _placed(self, chunk: AudioChunk) -> AudioChunk:
        """``chunk`` under the number of its piece, with its words behind what another voice said of that."""
        if chunk.piece is None:
            return chunk
        piece = self._pieces[chunk.piece]
        said = self._said[piece]
        said.seconds += chunk.pcm.size / self.sample_rate_hz
        before = round(self._begun_s.get(piece, 0.0) * self.sample_rate_hz)
        words = chunk.words and tuple(WordTiming(w.word, w.start + before, w.end + before) for w in chunk.words)
        said.ends_s += [word.end / self.sample_rate_hz for word in words or ()]
        return AudioChunk(chunk.pcm, piece, words)

    def _switch(self, fault: GloveError) -> TtsAdapter:
        """Let the second voice say what is left; it is not open yet. Returns the first."""
        self._standby.failed(fault)
        failed, self._on_second = self._voice, True
        self._voice = self._follow(self._second(self._language))
        self._pieces = list(range(self._done, len(self._texts)))
        self._begun_s = {piece: said.seconds for piece, said in self._said.items()}
        for piece in self._pieces:
            self._voice.send_text(self._left_of(piece))
        if self._flushed:
            self._voice.flush()
        return failed

    def _left_of(self, piece: int) -> str:
        said = self._said[piece].words
        return " ".join(self._texts[piece].split()[said:]) if said else self._texts[piece]

    async def _take_over(self, failed: TtsAdapter) -> None:
        await failed.destroy()
        try:
            await self._voice.open()
        except Exception as fault:  # noqa: BLE001 - a voice may fail in any way
            self._over = True
            self.events.emit(TtsFault(as_voice_error(fault)))

    async def _watch(self) -> None:
        """The first voice may not be silent for long before its first sound, nor behind the end of the text."""
        while not self._on_second and not self._over:
            self._sign.clear()
            speaks = any(has_words(text) for text in self._texts)
            due = speaks and (self._flushed or not self._said)
            try:
                async with asyncio.timeout(SOUND_PATIENCE_S if due else None):
                    await self._sign.wait()
            except TimeoutError:
                await self._take_over(self._switch(_slow(SOUND_PATIENCE_S)))


def _slow(patience_s: float) -> GloveVoiceError:
    return GloveVoiceError("ERR_TTS_CONNECTION", f"The voice was silent for {patience_s:g} s.", "Check the network.")
