"""ElevenLabs in memory. Every message, in both directions, is checked against the types of the vendor's own SDK."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import elevenlabs.types as sdk
import numpy as np
from elevenlabs.realtime.scribe import AudioFormat, CommitStrategy, ScribeRealtime
from elevenlabs.v_1_speech_to_text_realtime.types.receive_transcription import ReceiveTranscription
from elevenlabs.v_1_text_to_speech_voice_id_stream_input.types.receive_message import ReceiveMessage
from elevenlabs.v_1_text_to_speech_voice_id_stream_input.types.send_message import SendMessage

from audio.providers.socket import Message
from tests.audio.providers.sockets import FakeConnection, FakeService, checked

LEAST_COMMIT_S = 0.3
"""Less sound than this that is not yet committed is not committed."""


def sdk_scribe_query(**options: Any) -> dict[str, str]:
    """What the vendor's own client would ask for, given its options."""
    client = ScribeRealtime("no-key")
    url = client._build_websocket_url(
        model_id=options.pop("model_id"),
        audio_format=AudioFormat.PCM_16000.value,
        commit_strategy=CommitStrategy.MANUAL.value,
        **{**ScribeRealtime._shared_url_kwargs({}), **options},
    )
    return dict(parse_qsl(urlsplit(url).query))


class FakeScribe(FakeService):
    """Commits when told to, with the next of ``finals``, after ``latency_s``."""

    def __init__(self, finals: list[str] | None = None, *, latency_s: float = 0.35) -> None:
        super().__init__()
        self.finals = list(finals or [])
        self.latency_s = latency_s
        self.uncommitted = 0
        self.heard_samples = 0
        self.language: str | None = None

    def opened(self, connection: FakeConnection) -> None:
        self.uncommitted = 0
        self.say(connection, {"message_type": "session_started", "session_id": "s1", "config": {"sample_rate": 16000}})

    def say(self, connection: FakeConnection, told: dict[str, Any], after_s: float = 0.0) -> None:
        """Send ``told`` to the client, if the SDK knows such a message."""
        connection.push(checked(told, *ReceiveTranscription.__args__), after_s=after_s)

    def partial(self, text: str) -> None:
        self.say(self.connection, {"message_type": "partial_transcript", "text": text})

    def complain(self, kind: str, error: str = "no") -> None:
        self.say(self.connection, {"message_type": kind, "error": error})

    def heard(self, connection: FakeConnection, message: Message) -> None:
        told = json.loads(message)
        checked(told, sdk.InputAudioChunkPayload)
        pcm = np.frombuffer(base64.b64decode(told["audio_base_64"]), "<i2")
        self.uncommitted += pcm.size
        self.heard_samples += int(np.count_nonzero(pcm))
        if told["commit"]:
            self.commit(connection)

    def commit(self, connection: FakeConnection) -> None:
        if self.uncommitted < LEAST_COMMIT_S * 16_000:
            return self.complain("commit_throttled")
        self.uncommitted = 0
        text = self.finals.pop(0) if self.finals else ""
        self.say(connection, {"message_type": "committed_transcript", "text": text}, self.latency_s)
        if self.language is not None and text:
            told = {"message_type": "committed_transcript_with_timestamps", "text": text, "words": []}
            self.say(connection, {**told, "language_code": self.language}, self.latency_s + 0.1)
        return None


class FakeVoices(FakeService):
    """Speaks 50 ms per character, in chunks, with the times of the characters where ``aligned``."""

    CHAR_MS = 50

    def __init__(self, *, aligned: bool = True, latency_s: float = 0.1, chunk_chars: int = 12) -> None:
        super().__init__()
        self.aligned = aligned
        self.latency_s = latency_s
        self.chunk_chars = chunk_chars
        self.final = True
        self.rate_hz = 24_000
        self._buffers: dict[FakeConnection, str] = {}

    def heard(self, connection: FakeConnection, message: Message) -> None:
        told = json.loads(message)
        first = connection not in self._buffers
        checked(told, sdk.InitializeConnection) if first else checked(told, *SendMessage.__args__[1:])
        if first:
            self._buffers[connection] = ""
            return
        self._buffers[connection] += told["text"] if told["text"].strip() else ""
        if told.get("flush") or told["text"] == "":
            self.speak(connection)
        if told["text"] == "" and self.final:
            connection.push(checked({"isFinal": True}, *ReceiveMessage.__args__), after_s=self.latency_s)

    def speak(self, connection: FakeConnection) -> None:
        text, self._buffers[connection] = self._buffers[connection], ""
        for start in range(0, len(text), self.chunk_chars):
            connection.push(self.chunk(text[start : start + self.chunk_chars]), after_s=self.latency_s)

    def chunk(self, text: str) -> str:
        pcm = np.full(len(text) * self.CHAR_MS * self.rate_hz // 1000, 100, "<i2")
        told: dict[str, Any] = {"audio": base64.b64encode(pcm.tobytes()).decode()}
        if self.aligned:
            times = [index * self.CHAR_MS for index in range(len(text))]
            spans = {"charStartTimesMs": times, "charDurationsMs": [self.CHAR_MS] * len(text), "chars": list(text)}
            told |= {"alignment": spans, "normalizedAlignment": spans}
        return checked(told, *ReceiveMessage.__args__)
