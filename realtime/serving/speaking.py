"""An answer's text as sound of one rate, a sentence at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from audio.pcm import Pcm, silence
from audio.resample import StreamResampler
from audio.sentences import SentenceBuffer
from audio.speakable import Speakable
from audio.tts.base import AudioChunk, PieceDone, TtsEvent, TtsFactory, WordTiming
from realtime.serving.items import Speech

AHEAD = 2
"""Sentences that the voice is given before the first is spoken: sound is made no faster than it is sent."""


class Speaking:
    """Speaks one answer.

    Args:
        voices: makes the voice.
        language: BCP-47 tag.
        speech: is told which sound says which words.
        tell: receives the voice's events, which come back to ``sound`` and ``spoken``.

    Raises:
        GloveError: there is no voice for the language.
    """

    def __init__(self, voices: TtsFactory, language: str, speech: Speech, tell: Callable[[TtsEvent], None]) -> None:
        self._voice = voices(language)
        self._voice.events.on(TtsEvent, tell)
        self._speech = speech
        self._sentences = SentenceBuffer(language)
        self._speakable = Speakable(language)
        self._waiting: deque[str] = deque()
        self._sent = self._spoken = 0
        self._ended = self._flushed = False
        self._resampler: StreamResampler | None = None
        self._unvoiced = ""

    async def open(self) -> None:
        """Get ready. Raises ``GloveVoiceError``."""
        await self._voice.open()

    async def close(self) -> None:
        """Be silent; idempotent."""
        await self._voice.destroy()

    def say(self, text: str) -> None:
        """More of the text."""
        self._waiting.extend(self._sentences.push(text))
        self._send()

    def end(self) -> None:
        """That was all of it."""
        if rest := self._sentences.flush():
            self._waiting.append(rest)
        self._ended = True
        self._send()

    def spoken(self, done: PieceDone) -> None:
        """The voice has spoken a sentence."""
        self._speech.tracker.finish_piece(done.piece)
        self._spoken = max(self._spoken, done.piece + 1)
        self._send()

    def sound(self, chunk: AudioChunk) -> Pcm:
        """What is to be sent of ``chunk``."""
        rate_hz, voice_hz = self._speech.rate_hz, self._voice.sample_rate_hz
        ready = silence(0)
        if self._resampler is None or self._resampler.in_rate_hz != voice_hz:
            ready = self.rest()
            self._resampler = StreamResampler(voice_hz, rate_hz)
        scale = rate_hz / voice_hz
        words = [WordTiming(one.word, round(one.start * scale), round(one.end * scale)) for one in chunk.words or ()]
        samples = round(chunk.pcm.size * scale)
        self._speech.tracker.add_audio(chunk.piece, samples, words, (chunk.pcm, voice_hz))
        more = self._resampler.push(chunk.pcm)
        return _joined(ready, more)

    def rest(self) -> Pcm:
        """What the resampler still holds; the sound has ended."""
        resampler, self._resampler = self._resampler, None
        return silence(0) if resampler is None else resampler.flush()

    def _send(self) -> None:
        while self._waiting and (self._sent - self._spoken < AHEAD or not self._voice.reports_pieces):
            sentence = self._unvoiced + self._waiting.popleft()
            spoken = self._speakable.feed(sentence)
            if not spoken.strip():
                # What cannot be said counts as heard with the sentence after it.
                self._unvoiced = sentence
                continue
            self._unvoiced = ""
            self._speech.tracker.add_piece(self._sent, sentence)
            self._sent += 1
            self._voice.send_text(spoken)
        if self._ended and not self._waiting and not self._flushed:
            self._flushed = True
            self._voice.flush()


def _joined(first: Pcm, second: Pcm) -> Pcm:
    import numpy as np

    return np.concatenate((first, second)) if first.size else second
