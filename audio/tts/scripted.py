"""A voice that speaks in tones: a double for tests, and a provider of fixed speed for benchmarks.

Word number k of a response is a burst of 500 + 25·k Hz, so a recording says by itself which words were heard.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm, ms_to_samples, silence
from audio.tts.base import AudioChunk, TtsAdapter, WordTiming
from audio.tts.local import SentenceTts, Speech, has_words

BASE_HZ = 500.0
STEP_HZ = 25.0
Fault = Literal["silent", "open", "before_audio", "after_first_audio"]


@dataclass
class ScriptedVoice:
    """Settings, and a ``TtsFactory`` that makes a ``ScriptedTts`` of them per response and keeps it in ``made``.

    Attributes:
        open_s: how long ``open`` takes.
        first_audio_s: from the start of a piece to its first sound.
        speed: how many times faster than real time sound is made after the first chunk.
        chunk_ms: length of a chunk.
        word_ms: length of a word with its pause.
        tone_ms: length of its burst.
        peak: level of the burst, 0…1.
        word_timings: whether ``AudioChunk.words`` is given.
        vocabulary: words, lower case and bare, whose place decides their tone; other words come after the last.
            Empty: words are numbered as they come in the response.
        rate_hz: rate of the sound.
        fault: ``silent`` never makes sound nor ends; ``open`` fails to open; ``before_audio`` and
            ``after_first_audio`` fail before and after the first chunk.
    """

    open_s: float = 0.0
    first_audio_s: float = 0.12
    speed: float = 5.0
    chunk_ms: int = 100
    word_ms: int = 250
    tone_ms: int = 220
    peak: float = 0.35
    word_timings: bool = True
    vocabulary: tuple[str, ...] = ()
    rate_hz: int = 24_000
    fault: Fault | None = None
    made: list[ScriptedTts] = field(default_factory=lambda: [])

    def __call__(self, language: str) -> TtsAdapter:
        """A fresh voice for one response."""
        tts = ScriptedTts(self, language)
        self.made.append(tts)
        return tts


class ScriptedTts(SentenceTts):
    """Speaks one response in tones. Strict: any use after ``destroy``, a second ``open`` or ``flush`` raises.

    Attributes:
        language: what the factory was asked for.
        texts: every piece that was sent, in order.
        destroyed: whether ``destroy`` was called.
    """

    def __init__(self, voice: ScriptedVoice, language: str = "en") -> None:
        super().__init__(lead_s=None)
        self.language = language
        self.texts: list[str] = []
        self.destroyed = False
        self._settings = voice
        self._next_word = 0
        self._opened = False

    @property
    def sample_rate_hz(self) -> int:
        """The rate in the settings."""
        return self._settings.rate_hz

    async def open(self) -> None:
        """Take ``open_s``, then be ready. Fault ``open``: raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""
        self._must(not self.destroyed and not self._opened, "open")
        self._opened = True
        await super().open()

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """Speak ``text`` after what was sent before."""
        self._must(not self.destroyed, "send_text")
        super().send_text(text, flush=flush)
        self.texts.append(text)

    def flush(self) -> None:
        """No more text will come."""
        self._must(not self.destroyed and not self._flushed, "flush")
        super().flush()

    async def destroy(self) -> None:
        """Drop everything now; idempotent."""
        self.destroyed = True
        await super().destroy()

    async def prepare(self) -> None:
        """Wait as long as the settings say."""
        await asyncio.sleep(self._settings.open_s)
        if self._settings.fault == "open":
            raise GloveVoiceError("ERR_TTS_CONNECTION", "The scripted voice was told not to open.")

    async def render(self, text: str) -> Speech:
        """One tone per word, with exact timings."""
        rate = self._settings.rate_hz
        length = ms_to_samples(self._settings.word_ms, rate)
        burst = ms_to_samples(self._settings.tone_ms, rate)
        sound = [silence(0)]
        words: list[WordTiming] = []
        for word in filter(has_words, text.split()):
            start = len(words) * length
            words.append(WordTiming(word, start, start + burst))
            sound += [self._tone(self._number(word), burst), silence(length - burst)]
        return Speech(np.concatenate(sound), tuple(words) if self._settings.word_timings else None)

    async def speak(self, piece: int, text: str) -> None:
        """Emit the sound of a piece at the pace in the settings."""
        settings = self._settings
        if settings.fault == "silent":
            await asyncio.Event().wait()
        if not has_words(text):
            return
        await asyncio.sleep(settings.first_audio_s)
        if settings.fault == "before_audio":
            raise GloveVoiceError("ERR_TTS_SYNTHESIS", "The scripted voice was told to fail.")
        speech = await self.render(text)
        size = ms_to_samples(settings.chunk_ms, settings.rate_hz)
        for start in range(0, speech.pcm.size, size):
            if start:
                await asyncio.sleep(settings.chunk_ms / 1000 / settings.speed)
                if settings.fault == "after_first_audio":
                    raise GloveVoiceError("ERR_TTS_SYNTHESIS", "The scripted voice was told to fail.")
            self.emit(AudioChunk(speech.pcm[start : start + size], piece, speech.words if start == 0 else None))

    def _number(self, word: str) -> int:
        known = self._settings.vocabulary
        bare = word.strip(".,;:!?…\"'()").lower()
        if known:
            return known.index(bare) if bare in known else len(known)
        self._next_word += 1
        return self._next_word - 1

    def _tone(self, number: int, samples: int) -> Pcm:
        time_s = np.arange(samples) / self._settings.rate_hz
        wave = self._settings.peak * np.cos(2 * np.pi * tone_hz(number) * time_s)
        return (wave * 32767).astype(np.int16)

    def _must(self, condition: bool, what: str) -> None:
        if not condition:
            raise RuntimeError(f"scripted voice: {what} is not allowed here")


def tone_hz(number: int) -> float:
    """Frequency of word ``number`` of a response; after 400 words it starts again."""
    return BASE_HZ + STEP_HZ * (number % 400)
