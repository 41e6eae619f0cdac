"""Deepgram's realtime recogniser (``/v1/listen``).

An utterance may come in several finished stretches before it is asked for; the last of them says that it answers the
request. Turns are ours, so the service's own endpointing is off. The wire is that of the service's API reference and of
its own SDK.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlencode

from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from agents.models.faults import Account
from audio.pcm import CAPTURE_RATE_HZ, Pcm, wire_bytes
from audio.providers.socket import Dial, Message, Target, dial, json_object, websocket_url
from audio.providers.socket_stt import STALE_S, SocketStt
from audio.providers.stt_wire import Lost, quiet
from audio.stt.base import SttEvent, SttFinal, SttPartial

API = "wss://api.deepgram.com"
KEY = "DEEPGRAM_API_KEY"
MODEL = "nova-3"

KEEP_ALIVE_S = 6.0
"""The service closes after ten seconds without a word."""

FINISH_SILENCE_MS = 200
"""Silence before a request for a final: without anything new to recognise there may be no answer."""


class DeepgramStt(SocketStt):
    """Deepgram as a streaming recogniser.

    Args:
        api_key: the account's key, never part of an error or a log line.
        model: model id.
        language: BCP-47 tag of what is spoken; None lets the service find it out.
        base_url: another address with the same protocol.
        backoff: delays between attempts to connect again, and how many there are.
        stale_s: how long the service may owe an answer, in seconds.
        dial: opens connections.
    """

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
        wire = DeepgramWire(api_key, model or MODEL, language, base_url or API)
        super().__init__(wire, backoff=backoff, stale_s=stale_s, dial=dial)


class DeepgramWire:
    """What Deepgram writes and reads; see ``SttWire``."""

    keep_alive_s = KEEP_ALIVE_S

    def __init__(self, api_key: str, model: str, language: str | None, base_url: str) -> None:
        self.account = Account("Deepgram", KEY, (api_key,))
        self._api_key = api_key
        self._model = model
        self._language = language
        self._base_url = websocket_url(base_url)
        self._said: list[str] = []

    async def target(self) -> Target:
        """See ``SttWire``."""
        asked = {
            "model": self._model,
            "encoding": "linear16",
            "sample_rate": CAPTURE_RATE_HZ,
            "channels": 1,
            "interim_results": "true",
            "smart_format": "true",
            "endpointing": "false",
            "language": self._language or "multi",
        }
        headers = {"Authorization": f"Token {self._api_key}"}
        return Target(f"{self._base_url}/v1/listen?{urlencode(asked)}", headers)

    def begin(self) -> None:
        """See ``SttWire``."""
        self._said = []

    def audio(self, pcm: Pcm) -> Message:
        """See ``SttWire``."""
        return wire_bytes(pcm)

    def finish(self) -> Sequence[Message]:
        """See ``SttWire``."""
        return [self.audio(quiet(FINISH_SILENCE_MS)), json.dumps({"type": "Finalize"})]

    def keep_alive(self) -> Message:
        """See ``SttWire``."""
        return json.dumps({"type": "KeepAlive"})

    def read(self, message: Message) -> Sequence[SttEvent]:
        """See ``SttWire``."""
        told = json_object(message)
        match told.get("type"):
            case "Results":
                return self._results(told)
            case "Error":
                words = self.account.clean(str(told.get("description") or told.get("variant") or "an error"))
                return [Lost(GloveVoiceError("ERR_STT_DISCONNECTED", f"Deepgram said: {words}"))]
            case _:
                return []

    def _results(self, told: dict[str, Any]) -> Sequence[SttEvent]:
        best = _best(told)
        text = " ".join(part for part in (*self._said, str(best.get("transcript") or "").strip()) if part)
        if told.get("from_finalize"):
            self._said = []
            return [SttFinal(text, self._heard(best))]
        if told.get("is_final"):
            self._said = [text] if text else []
        return [SttPartial(text)] if text else []

    def _heard(self, best: dict[str, Any]) -> str:
        found = best.get("languages")
        named = cast("list[object]", found)[0] if isinstance(found, list) and found else None
        return str(self._language or named or "en").split("-")[0].lower()


def _best(told: dict[str, Any]) -> dict[str, Any]:
    channel = told.get("channel")
    several = cast("dict[str, Any]", channel).get("alternatives") if isinstance(channel, dict) else None
    first = cast("list[object]", several)[0] if isinstance(several, list) and several else None
    return cast("dict[str, Any]", first) if isinstance(first, dict) else {}
