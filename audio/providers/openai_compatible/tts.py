"""Speech by ``POST /audio/speech``, spoken while it arrives."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np

from agents.base.clock import real_time_work
from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import again, unreachable
from audio.pcm import Pcm
from audio.providers.openai_compatible.client import SpeechServer
from audio.tts.local import SentenceTts, Speech, joined

MODEL = "gpt-4o-mini-tts"
COMMON_MODEL = "tts-1"
VOICE = "alloy"
RATE_HZ = 24_000
"""What ``pcm`` means: 24 kHz, 16 bits, mono, without a header."""

READ_BYTES = 9_600
"""Sound is handed on in stretches of 200 ms."""

_OTHER_FORMATS = (b"RIFF", b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b'{"')
_OTHER_TYPES = ("text/", "application/json", "application/xhtml")
"""A page or a message where sound was asked for: the wrong address, or somebody between us and the server."""


class OpenAiVoices:
    """A ``TtsFactory``: each call gives a voice for one response.

    Args:
        server: where it is.
        model: model id; the server's usual one when empty.
        voice: of the model.
        rate_hz: rate of the sound, for servers that do not keep to 24 kHz.
        retries: further attempts per sentence while the server is busy or away.
    """

    def __init__(
        self, server: SpeechServer, model: str = "", voice: str = "", *, rate_hz: int = RATE_HZ, retries: int = 1
    ) -> None:
        self._server = server
        self._model = model or (MODEL if server.is_openai else COMMON_MODEL)
        self._voice = voice or VOICE
        self._rate_hz = rate_hz
        self._retries = retries

    def __call__(self, language: str) -> OpenAiTts:
        """A fresh voice for one response; the models find the language out by themselves."""
        return OpenAiTts(self._server, self._model, self._voice, self._rate_hz, self._retries)


class OpenAiTts(SentenceTts):
    """One response, a request per sentence; the sound of a sentence is emitted while the rest of it is made."""

    def __init__(self, server: SpeechServer, model: str, voice: str, rate_hz: int, retries: int) -> None:
        super().__init__()
        self._server = server
        self._model = model
        self._voice = voice
        self._rate_hz = rate_hz
        self._retries = retries

    @property
    def sample_rate_hz(self) -> int:
        """See ``TtsAdapter``."""
        return self._rate_hz

    async def prepare(self) -> None:
        """Load the SDK; the server is first asked for the first sentence."""
        await self._server.client()

    async def render(self, text: str) -> Speech:
        """See ``SentenceTts``."""
        return await joined(self.stream(text))

    async def stream(self, text: str) -> AsyncGenerator[Speech]:
        """See ``SentenceTts``. Raises ``GloveVoiceError`` with the codes of ``audio.providers.faults``."""
        error: GloveVoiceError
        try:
            async with contextlib.aclosing(self._sound(text)) as sound:
                async for pcm in sound:
                    yield Speech(pcm)
            return
        except GloveVoiceError:
            raise
        except GloveError as fault:
            error = self._server.voice_fault(fault, "TTS")
        raise error

    async def _sound(self, text: str) -> AsyncGenerator[Pcm]:
        request = await again(lambda: self._ask(text), self._retries)
        manager, response = request
        try:
            typed_as_text = str(response.headers.get("content-type", "")).lower().startswith(_OTHER_TYPES)
            rest = b""
            begun = False
            chunks = response.iter_bytes(READ_BYTES)
            while True:
                async with self._server.waiting():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                # Servers that state no type at all state a text's; but 200 ms of sound are never without a zero byte.
                if not begun and (chunk.startswith(_OTHER_FORMATS) or (typed_as_text and b"\0" not in chunk)):
                    raise self._no_pcm()
                begun = True
                rest += chunk
                whole = len(rest) // 2 * 2
                if whole:
                    yield np.frombuffer(rest[:whole], "<i2").astype(np.int16, copy=False)
                rest = rest[whole:]
            if not begun:
                raise unreachable(f"{self._server.account.provider} sent no sound.")
        finally:
            with real_time_work():
                await manager.__aexit__(None, None, None)

    async def _ask(self, text: str) -> tuple[Any, Any]:
        client = await self._server.client()
        manager = client.audio.speech.with_streaming_response.create(
            model=self._model, voice=self._voice, input=text, response_format="pcm"
        )
        async with self._server.waiting():
            return manager, await manager.__aenter__()

    def _no_pcm(self) -> GloveVoiceError:
        return GloveVoiceError(
            "ERR_TTS_REQUEST",
            f"{self._server.account.provider} does not answer with PCM.",
            'Use a server that knows response_format "pcm".',
        )
