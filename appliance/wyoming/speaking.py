"""A client's text as speech, sent while it is made."""

from __future__ import annotations

import asyncio

from wyoming.audio import AudioStart, AudioStop
from wyoming.tts import SynthesizeStopped

from agents.base.errors import GloveError
from appliance.wyoming.contract import Lent, Refused, Send
from audio.pcm import Pcm
from audio.providers.wyoming.sound import chunk_of
from audio.resample import StreamResampler
from audio.sentences import SentenceBuffer
from audio.speakable import Speakable
from audio.tts.base import AudioChunk, TtsDone, TtsEvent, TtsFault, as_voice_error

MOST_CHARS = 5_000
"""Longest text of one request: about six minutes of speech."""


class Utterance:
    """One text, which may come little by little.

    Args:
        lent: whose voice.
        language: BCP-47 tag; the usual language when None.
        streamed: whether the client sends the text in a stream, and wants to be told of its end.

    Raises ``Refused`` for a language that is none.
    """

    def __init__(self, lent: Lent, language: str | None, *, streamed: bool = False) -> None:
        tag = language or lent.voice_languages[0]
        try:
            self._voice = lent.voices(tag)
        except GloveError as fault:
            raise Refused(str(fault)) from None
        self._sentences = SentenceBuffer(tag)
        self._speakable = Speakable(tag)
        self._streamed = streamed
        self._chars = 0
        self._events: asyncio.Queue[TtsEvent] = asyncio.Queue()
        self._voice.events.on(TtsEvent, self._events.put_nowait)

    def add(self, text: str) -> None:
        """More of the text. Raises ``Refused`` beyond ``MOST_CHARS``."""
        self._chars += len(text)
        if self._chars > MOST_CHARS:
            raise Refused(f"a text is longer than {MOST_CHARS} characters")
        for sentence in self._sentences.push(text):
            self._say(sentence)

    def end(self) -> None:
        """That was all of the text."""
        rest = self._sentences.flush()
        if rest:
            self._say(rest)
        self._voice.flush()

    async def run(self, send: Send) -> None:
        """Speak to the client until all is said (a ``Job``). Raises ``GloveError`` where the voice fails."""
        try:
            await self._voice.open()
            sound = _Sound(send)
            while True:
                event = await self._events.get()
                if isinstance(event, AudioChunk):
                    await sound.send(event.pcm, self._voice.sample_rate_hz)
                elif isinstance(event, TtsDone):
                    break
                elif isinstance(event, TtsFault):
                    raise as_voice_error(event.error)
            await sound.end(self._voice.sample_rate_hz)
            if self._streamed:
                await send(SynthesizeStopped().event())
        finally:
            await self._voice.destroy()

    def _say(self, sentence: str) -> None:
        spoken = self._speakable.feed(sentence)
        if spoken.strip():
            self._voice.send_text(spoken)


class _Sound:
    """The sound of one answer, at the rate at which it began: voices that take over may have another."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._rate_hz = 0
        self._sent = 0
        self._resampler: StreamResampler | None = None

    async def send(self, pcm: Pcm, rate_hz: int) -> None:
        await self._begin(rate_hz)
        if self._resampler is None or self._resampler.in_rate_hz != rate_hz:
            await self._chunk(self._rest())
            self._resampler = StreamResampler(rate_hz, self._rate_hz)
        await self._chunk(self._resampler.push(pcm))

    async def end(self, rate_hz: int) -> None:
        await self._begin(rate_hz)
        await self._chunk(self._rest())
        await self._send(AudioStop(timestamp=self._sent * 1000 // self._rate_hz).event())

    async def _begin(self, rate_hz: int) -> None:
        if not self._rate_hz:
            self._rate_hz = rate_hz
            await self._send(AudioStart(rate_hz, 2, 1, timestamp=0).event())

    async def _chunk(self, pcm: Pcm | None) -> None:
        if pcm is not None and pcm.size:
            await self._send(chunk_of(pcm, self._rate_hz, self._sent).event())
            self._sent += pcm.size

    def _rest(self) -> Pcm | None:
        return None if self._resampler is None else self._resampler.flush()
