"""Scribe, ElevenLabs' realtime recogniser (``/v1/speech-to-text/realtime``).

Turns are ours: the service commits when it is told to. A commit rides on a chunk of sound, and one with less than 0.3 s
of sound that is not yet committed is refused without a final, so each brings its own silence. The wire is that of the
service's API reference and of its own SDK.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from audio.pcm import CAPTURE_RATE_HZ, Pcm, wire_bytes
from audio.providers.elevenlabs.account import API, KEY, Access, GetToken
from audio.providers.socket import Dial, Message, Target, dial, json_object
from audio.providers.socket_stt import STALE_S, SocketStt
from audio.providers.stt_wire import Lost, quiet
from audio.stt.base import SttEvent, SttFault, SttFinal, SttPartial

MODEL = "scribe_v2_realtime"

COMMIT_SILENCE_MS = 320
"""Silence that a commit brings along."""

KEEP_ALIVE_S = 9.0
"""The service closes when it has had no sound for 18 to 20 seconds."""

_AGAIN = {
    "session_time_limit_exceeded": "DISCONNECTED",
    "transcriber_error": "DISCONNECTED",
    "error": "DISCONNECTED",
    "queue_overflow": "DISCONNECTED",
    "resource_exhausted": "LIMIT",
    "rate_limited": "LIMIT",
    "quota_exceeded": "LIMIT",
}
_LASTING = {"auth_error": "AUTH", "unaccepted_terms": "AUTH"}
_REFUSED = ("invalid_request", "input_error", "chunk_size_exceeded")
_NOTHING_SAID = ("commit_throttled", "insufficient_audio_activity")


class ScribeStt(SocketStt):
    """Scribe as a streaming recogniser.

    Args:
        api_key: the account's key, never part of an error or a log line; None where ``get_token`` is given.
        get_token: gives a single-use token before each connection.
        model: model id.
        language: BCP-47 tag of what is spoken; None lets the service find it out, which makes finals later.
        base_url: another address with the same protocol.
        backoff: delays between attempts to connect again, and how many there are.
        stale_s: how long the service may owe an answer, in seconds.
        dial: opens connections.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        get_token: GetToken | None = None,
        model: str = MODEL,
        language: str | None = "en",
        base_url: str = API,
        key_name: str = KEY,
        backoff: Backoff | None = None,
        stale_s: float = STALE_S,
        dial: Dial = dial,
    ) -> None:
        access = Access(api_key, get_token, base_url, key_name)
        wire = ScribeWire(access, model or MODEL, language.split("-")[0] if language else None)
        super().__init__(wire, backoff=backoff, stale_s=stale_s, dial=dial)


class ScribeWire:
    """What Scribe writes and reads; see ``SttWire``."""

    keep_alive_s = KEEP_ALIVE_S

    def __init__(self, access: Access, model: str, language: str | None) -> None:
        self.account = access.account
        self._access = access
        self._model = model
        self._language = language

    async def target(self) -> Target:
        """See ``SttWire``."""
        asked = {"model_id": self._model, "audio_format": f"pcm_{CAPTURE_RATE_HZ}", "commit_strategy": "manual"}
        if self._language is not None:
            asked["language_code"] = self._language
        else:
            asked["include_language_detection"] = "true"
        return await self._access.target(("v1", "speech-to-text", "realtime"), asked, "token")

    def begin(self) -> None:
        """See ``SttWire``."""

    def audio(self, pcm: Pcm) -> Message:
        """See ``SttWire``."""
        return _chunk(pcm, commit=False)

    def finish(self) -> Sequence[Message]:
        """See ``SttWire``."""
        return [_chunk(quiet(COMMIT_SILENCE_MS), commit=True)]

    def keep_alive(self) -> Message:
        """See ``SttWire``."""
        return _chunk(quiet(20), commit=False)

    def read(self, message: Message) -> Sequence[SttEvent]:
        """See ``SttWire``."""
        told = json_object(message)
        kind = told.get("message_type")
        text = str(told.get("text") or "")
        match kind:
            case "partial_transcript":
                return [SttPartial(text)]
            case "committed_transcript" if self._language is not None or not text.strip():
                return [SttFinal(text, self._language or "en")]
            case "committed_transcript":
                return [SttPartial(text)]  # the same text follows with its language
            case "committed_transcript_with_timestamps" if self._language is None and text.strip():
                return [SttFinal(text, _primary(told.get("language_code")))]
            case str():
                return self._complaint(kind, str(told.get("error") or ""))
            case _:
                return []

    def _complaint(self, kind: str, words: str) -> Sequence[SttEvent]:
        if kind in _NOTHING_SAID:
            return [SttFinal("")]
        said = self.account.clean(f"ElevenLabs said: {words or kind}")
        if kind in _AGAIN:
            remedy = "Wait a little, or raise the account's limits." if _AGAIN[kind] == "LIMIT" else None
            return [Lost(GloveVoiceError(f"ERR_STT_{_AGAIN[kind]}", said, remedy))]
        if kind in _LASTING:
            return [Lost(GloveVoiceError("ERR_STT_AUTH", said, f"Check {self.account.key_name} and the account."))]
        if kind in _REFUSED:
            return [SttFault(GloveVoiceError("ERR_STT_REQUEST", said, "Check the model and the language."))]
        return []


def _chunk(pcm: Pcm, *, commit: bool) -> str:
    sound = base64.b64encode(wire_bytes(pcm)).decode()
    fields = {"message_type": "input_audio_chunk", "audio_base_64": sound, "commit": commit}
    return json.dumps({**fields, "sample_rate": CAPTURE_RATE_HZ})


def _primary(code: object) -> str:
    """The primary tag of the language ``code``, which may have two letters or three."""
    from babel.core import get_global

    bare = str(code or "en").split("-")[0].lower()
    return str(get_global("language_aliases").get(bare, bare))
