"""ElevenLabs' voices with text as input stream (``/v1/text-to-speech/<voice>/stream-input``).

Each piece of text is a sentence and is sent with the order to speak it at once: the service would otherwise wait for
more than a hundred characters. The times of its characters say which words were spoken when.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm
from audio.providers.elevenlabs.account import API, KEY, Access, GetToken
from audio.providers.elevenlabs.alignment import Character, PieceAlignment
from audio.providers.faults import voice_fault
from audio.providers.socket import Dial, Message, Target, dial, json_object
from audio.providers.socket_tts import SocketTts
from audio.tts.base import TtsDone, TtsEvent, TtsFault
from audio.tts.local import has_words

MODEL = "eleven_turbo_v2_5"
VOICE = "21m00Tcm4TlvDq8ikWAM"
"""The voice "Rachel", which every account has."""

RATES_HZ = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
KEEP_ALIVE_S = 8.0
"""The service gives up an input stream after 20 seconds of silence."""

LATEST_MS = 600_000
"""No character of a chunk is spoken later than this."""

SCHEDULE = (60, 120, 160, 250)
"""Characters after which sound is made of a long sentence before it is complete."""

_TAKES_LANGUAGE = re.compile(r"(turbo|flash)_v2_5")


@dataclass(frozen=True)
class VoiceStyle:
    """How a voice speaks: ``stability`` and ``similarity`` 0…1, ``speed`` 0.7…1.2."""

    stability: float = 0.5
    similarity: float = 0.8
    speed: float = 1.0


class ElevenLabsVoices:
    """A ``TtsFactory``: each call gives a voice for one response.

    Args:
        api_key: the account's key, never part of an error or a log line; None where ``get_token`` is given.
        get_token: gives a single-use token before each connection.
        voice: voice id.
        model: model id.
        rate_hz: rate of the sound, one of ``RATES_HZ``.
        style: how the voice speaks.
        base_url: another address with the same protocol.
        dial: opens connections.

    Raises ``ValueError`` for a rate that the service does not have.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        get_token: GetToken | None = None,
        voice: str = VOICE,
        model: str = MODEL,
        rate_hz: int = 24_000,
        style: VoiceStyle | None = None,
        base_url: str = API,
        key_name: str = KEY,
        dial: Dial = dial,
    ) -> None:
        if rate_hz not in RATES_HZ:
            raise ValueError(f"the service has no sound at {rate_hz} Hz")
        self._access = Access(api_key, get_token, base_url, key_name)
        self._voice = voice or VOICE
        self._model = model or MODEL
        self._rate_hz = rate_hz
        self._style = style or VoiceStyle()
        self._dial = dial

    def __call__(self, language: str) -> SocketTts:
        """A fresh voice for one response in ``language`` (BCP-47)."""
        wire = ElevenLabsWire(self._access, self._voice, self._model, self._rate_hz, self._style, language)
        return SocketTts(wire, reports_pieces=False, dial=self._dial)


class ElevenLabsWire:
    """What the service writes and reads for one response; see ``TtsWire``."""

    keep_alive_s = KEEP_ALIVE_S

    def __init__(self, access: Access, voice: str, model: str, rate_hz: int, style: VoiceStyle, language: str) -> None:
        self.account = access.account
        self.rate_hz = rate_hz
        self._access = access
        self._voice = voice
        self._model = model
        self._style = style
        self._language = language.split("-")[0]
        self._alignment = PieceAlignment(rate_hz)
        self._odd = b""

    async def target(self) -> Target:
        """See ``TtsWire``."""
        asked = {"model_id": self._model, "output_format": f"pcm_{self.rate_hz}", "sync_alignment": "true"}
        if _TAKES_LANGUAGE.search(self._model):
            asked["language_code"] = self._language
        path = ("v1", "text-to-speech", self._voice, "stream-input")
        return await self._access.target(path, asked, "single_use_token")

    def begin(self) -> Sequence[Message]:
        """See ``TtsWire``."""
        style = self._style
        settings = {"stability": style.stability, "similarity_boost": style.similarity, "speed": style.speed}
        generation = {"chunk_length_schedule": list(SCHEDULE)}
        return [json.dumps({"text": " ", "voice_settings": settings, "generation_config": generation})]

    def text(self, text: str) -> Sequence[Message]:
        """See ``TtsWire``. An empty text would end the stream, and one without words makes no sound."""
        if not has_words(text):
            self._alignment.add("")
            return []
        self._alignment.add(text)
        return [json.dumps({"text": f"{text.strip()} ", "flush": True}, ensure_ascii=False)]

    def end(self) -> Sequence[Message]:
        """See ``TtsWire``."""
        return [json.dumps({"text": ""})]

    def keep_alive(self) -> Message:
        """See ``TtsWire``."""
        return json.dumps({"text": " "})

    def read(self, message: Message) -> Sequence[TtsEvent]:
        """See ``TtsWire``."""
        told = json_object(message)
        events: list[TtsEvent] = []
        pcm = self._pcm(told.get("audio"))
        if pcm.size:
            # The spoken text may be rewritten ("5" as "five"); the times that count are those of the text sent.
            events += self._alignment.take(pcm, _characters(told.get("alignment")))
        elif told.get("error"):
            return [TtsFault(self._fault(told))]
        if told.get("isFinal"):
            events += [*self.rest(), TtsDone()]
        return events

    def rest(self) -> Sequence[TtsEvent]:
        """See ``TtsWire``."""
        return list(self._alignment.finish())

    def _fault(self, told: dict[str, Any]) -> GloveVoiceError:
        kind = str(told["error"])
        words = str(told.get("message") or kind)
        return voice_fault(self.account.refusal({_KINDS.get(kind, kind)}, None, words), "TTS")

    def _pcm(self, sound: object) -> Pcm:
        if not isinstance(sound, str) or not sound:
            return np.zeros(0, np.int16)
        try:
            data = self._odd + base64.b64decode(sound)
        except ValueError:
            return np.zeros(0, np.int16)
        whole = len(data) // 2 * 2
        self._odd = data[whole:]
        return np.frombuffer(data[:whole], dtype="<i2").astype(np.int16, copy=False)


_KINDS = {
    "auth_error": "authentication_error",
    "invalid_api_key": "authentication_error",
    "quota_exceeded": "rate_limit_error",
    "rate_limited": "rate_limit_error",
    "too_many_concurrent_requests": "rate_limit_error",
    "system_busy": "overloaded_error",
    "input_timeout_exceeded": "timeout_error",
    "voice_not_found": "not_found_error",
}
"""The service's names of faults that mean what others call otherwise."""


def _characters(alignment: object) -> list[Character]:
    """The characters in a message; none where their times are no times: what is spoken counts more than when."""
    table = cast("dict[str, Any]", alignment) if isinstance(alignment, dict) else {}
    columns = [table.get(name) for name in ("chars", "charStartTimesMs", "charDurationsMs")]
    if not all(isinstance(column, list) for column in columns):
        return []
    chars, starts, durations = (cast("list[Any]", column) for column in columns)
    if not all(_is_time(value) for value in (*starts, *durations)):
        return []
    return [
        Character(str(char), float(start), float(start) + float(duration))
        for char, start, duration in zip(chars, starts, durations, strict=False)
    ]


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= LATEST_MS
