"""Recognition by ``POST /audio/transcriptions``: OpenAI, and the many servers that do the same with other models."""

from __future__ import annotations

import asyncio
import io
import math
import wave
from collections.abc import Iterable
from concurrent.futures import Executor
from functools import cache
from typing import Any, cast

from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import again
from audio.pcm import CAPTURE_RATE_HZ, Pcm, wire_bytes
from audio.providers.openai_compatible.client import SpeechServer
from audio.stt.base import SegmentStt, Transcript

OPENAI_MODEL = "gpt-transcribe"
COMMON_MODEL = "whisper-1"
"""What servers of one's own take for whatever they have, unless they know names."""

SHORTEST_S = 0.1
"""Less sound than this is not recognised by anybody, and refused by some."""

_NO_SPEECH = 0.6
_UNLIKELY = -1.0


class OpenAiStt(SegmentStt):
    """A segment recogniser on a server.

    Args:
        server: where it is.
        model: model id; the server's usual one when empty.
        verbose: whether scores and the language are asked for (``verbose_json``), which Whisper models know; by the
            model's name when None.
        primary: BCP-47 primary tag reported where the server does not say which language it heard.
        retries: further attempts while the server is busy or away.
    """

    max_seconds = 600.0

    def __init__(
        self,
        server: SpeechServer,
        model: str = "",
        *,
        verbose: bool | None = None,
        primary: str = "en",
        retries: int = 1,
    ) -> None:
        self._server = server
        self._model = model or (OPENAI_MODEL if server.is_openai else COMMON_MODEL)
        self._verbose = "whisper" in self._model.lower() if verbose is None else verbose
        self._primary = primary
        self._retries = retries
        self._closing: asyncio.Task[None] | None = None

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """See ``SegmentStt``; over a connection of its own. Not for threads in which a loop runs."""
        return asyncio.run(self._alone(pcm, language))

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``.

        Raises:
            GloveVoiceError: ``ERR_STT_CONNECTION``, ``ERR_STT_LIMIT``, ``ERR_STT_AUTH``, ``ERR_STT_REQUEST``.
        """
        return await self._recognise(self._server, pcm, language)

    def close(self) -> None:
        """Close the connection, on the loop that runs; idempotent."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the loop that had the connection has ended, and the connection with it
        if self._closing is None or self._closing.done():
            self._closing = loop.create_task(self._server.close())

    async def _alone(self, pcm: Pcm, language: str | None) -> Transcript:
        server = self._server.twin()
        try:
            return await self._recognise(server, pcm, language)
        finally:
            await server.close()

    async def _recognise(self, server: SpeechServer, pcm: Pcm, language: str | None) -> Transcript:
        if pcm.size < SHORTEST_S * CAPTURE_RATE_HZ or not pcm.any():
            return Transcript("", language or self._primary, None, 1.0)
        fields: dict[str, Any] = {"model": self._model, "file": ("speech.wav", wav(pcm), "audio/wav")}
        fields["response_format"] = "verbose_json" if self._verbose else "json"
        if language is not None:
            fields["language"] = language.split("-")[0]

        async def attempt() -> Any:
            client = await server.client()
            async with server.waiting():
                return await client.audio.transcriptions.create(**fields)

        try:
            return self._transcript(await again(attempt, self._retries), language)
        except GloveVoiceError:
            raise
        except GloveError as fault:
            error = server.voice_fault(fault, "STT")
        raise error

    def _transcript(self, told: Any, language: str | None) -> Transcript:
        text = getattr(told, "text", None)
        if not isinstance(text, str):
            raise GloveVoiceError(
                "ERR_STT_REQUEST",
                f"{self._server.account.provider} answered without a text.",
                "Check that the address is that of a server for transcriptions.",
            )
        segments = _listed(told, "segments")
        score = _mean(segments, "avg_logprob")
        no_speech = _mean(segments, "no_speech_prob")
        heard = language or _language(told) or self._primary
        if score is not None and no_speech is not None and no_speech > _NO_SPEECH and score < _UNLIKELY:
            return Transcript("", heard, score, no_speech)  # Whisper's words for silence
        return Transcript(text.strip(), heard.split("-")[0], score, no_speech)


def wav(pcm: Pcm) -> bytes:
    """16 kHz PCM as a WAV file."""
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(CAPTURE_RATE_HZ)
        file.writeframes(wire_bytes(pcm))
    return data.getvalue()


def _listed(told: Any, name: str) -> list[Any]:
    """The list that an answer has under ``name``; empty where it has none."""
    found = getattr(told, name, None)
    return cast("list[Any]", found) if isinstance(found, list) else []


def _mean(segments: Iterable[Any], name: str) -> float | None:
    """The mean of a figure of segments, by their number of tokens."""
    total, weights = 0.0, 0
    for segment in segments:
        value = getattr(segment, name, None)
        if isinstance(value, int | float) and math.isfinite(value):
            weight = max(1, len(_listed(segment, "tokens")))
            total += value * weight
            weights += weight
    return total / weights if weights else None


def _language(told: Any) -> str | None:
    """The language that a server names, as tag or in English words."""
    several = _listed(told, "languages")
    named = getattr(told, "language", None) or next((getattr(one, "code", None) for one in several), None)
    if not isinstance(named, str) or not named:
        return None
    return _tags().get(named.lower(), named.lower() if len(named) < 4 or "-" in named else None)


@cache
def _tags() -> dict[str, str]:
    """Languages by their English names."""
    from babel import Locale

    return {name.lower(): tag for tag, name in reversed(list(Locale("en").languages.items())) if len(tag) < 4}
