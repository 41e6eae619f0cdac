"""Cartesia's realtime recogniser (``/stt/websocket``), which finishes an utterance when it is told to.

Texts are stretches, each behind the finished ones before it, with their spacing; a request for a final is acknowledged
once everything before it has come. The wire is that of the service's API reference and of its own SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from agents.models.faults import Account
from audio.pcm import CAPTURE_RATE_HZ, Pcm, wire_bytes
from audio.providers.faults import lasting, voice_fault
from audio.providers.socket import Dial, Message, Target, dial, json_object, websocket_url
from audio.providers.socket_stt import STALE_S, SocketStt
from audio.providers.stt_wire import Lost, quiet
from audio.stt.base import SttEvent, SttFault, SttFinal, SttPartial

API = "wss://api.cartesia.ai"
KEY = "CARTESIA_API_KEY"
MODEL = "ink-whisper"
VERSION = "2026-08-14"
KEEP_ALIVE_S = 15.0


class CartesiaStt(SocketStt):
    """Cartesia as a streaming recogniser; the arguments are those of ``DeepgramStt``."""

    def __init__(
        self,
        api_key: str,
        *,
        model: str = MODEL,
        language: str | None = "en",
        base_url: str = API,
        backoff: Backoff | None = None,
        stale_s: float = STALE_S,
        dial: Dial = dial,
    ) -> None:
        wire = CartesiaWire(api_key, model or MODEL, language, base_url or API)
        super().__init__(wire, backoff=backoff, stale_s=stale_s, dial=dial)


class CartesiaWire:
    """What Cartesia writes and reads; see ``SttWire``."""

    keep_alive_s = KEEP_ALIVE_S

    def __init__(self, api_key: str, model: str, language: str | None, base_url: str) -> None:
        self.account = Account("Cartesia", KEY, (api_key,))
        self._api_key = api_key
        self._model = model
        self._language = language.split("-")[0] if language else None
        self._base_url = websocket_url(base_url)
        self._said = ""
        self._heard = "en"

    async def target(self) -> Target:
        """See ``SttWire``."""
        asked: dict[str, Any] = {"model": self._model, "encoding": "pcm_s16le", "sample_rate": CAPTURE_RATE_HZ}
        if self._language is not None:
            asked["language"] = self._language
        headers = {"Authorization": f"Bearer {self._api_key}", "Cartesia-Version": VERSION}
        return Target(f"{self._base_url}/stt/websocket?{urlencode(asked)}", headers)

    def begin(self) -> None:
        """See ``SttWire``."""
        self._said = ""

    def audio(self, pcm: Pcm) -> Message:
        """See ``SttWire``."""
        return wire_bytes(pcm)

    def finish(self) -> Sequence[Message]:
        """See ``SttWire``."""
        return ["finalize"]

    def keep_alive(self) -> Message:
        """See ``SttWire``."""
        return self.audio(quiet(20))

    def read(self, message: Message) -> Sequence[SttEvent]:
        """See ``SttWire``."""
        told = json_object(message)
        match told.get("type"):
            case "transcript":
                text = self._said + str(told.get("text") or "")
                self._heard = str(self._language or told.get("language") or "en").split("-")[0].lower()
                if told.get("is_final"):
                    self._said = text
                return [SttPartial(text)] if text.strip() else []
            case "flush_done":
                text, self._said = self._said, ""
                return [SttFinal(text, self._heard)]
            case "error":
                return [self._complaint(told)]
            case _:
                return []

    def _complaint(self, told: dict[str, Any]) -> SttEvent:
        status = told.get("status_code")
        words = str(told.get("message") or told.get("title") or told.get("error_code") or "")
        fault = voice_fault(self.account.refusal(set(), status if isinstance(status, int) else 500, words), "STT")
        if lasting(fault) and fault.code == "ERR_STT_REQUEST":
            return SttFault(fault)
        return Lost(GloveVoiceError(fault.code, fault.message, fault.remedy))
