"""A server on this machine with OpenAI's audio endpoints, checked with the types of OpenAI's SDK in both directions."""

from __future__ import annotations

import email
import email.policy
import io
import wave
from dataclasses import dataclass
from typing import Any

import numpy as np
from openai.types.audio import Transcription, TranscriptionVerbose
from openai.types.audio.speech_create_params import SpeechCreateParams
from openai.types.audio.transcription_create_params import TranscriptionCreateParamsNonStreaming

from audio.pcm import Pcm
from tests.agents.models import typed_values
from tests.agents.models.fake_server import Answer, FakeServer
from tests.audio.providers.sockets import checked


@dataclass
class FakeSpeechServer(FakeServer):
    """Transcribes and speaks as its answers say."""

    path: str = "/v1"
    stream_type: str = "audio/pcm"

    def decode(self, headers: dict[str, str], body: bytes) -> Any:
        kind = headers.get("content-type", "")
        if not kind.startswith("multipart/form-data"):
            return super().decode(headers, body)
        head = f"content-type: {kind}\r\n\r\n".encode()
        form = email.message_from_bytes(head + body, policy=email.policy.HTTP)
        parts: dict[str, Any] = {}
        for part in form.iter_parts():
            name = part.get_param("name", header="content-disposition")
            data = part.get_payload(decode=True)
            parts[name] = data if part.get_filename() else data.decode()
        return parts

    def check(self, path: str, body: Any) -> None:
        if path == "/v1/audio/transcriptions":
            fault = typed_values.fault(body, TranscriptionCreateParamsNonStreaming, frozenset({"file"}))
            assert sound(body).size
        else:
            assert path == "/v1/audio/speech"
            fault = typed_values.fault(body, SpeechCreateParams)
            assert len(body["input"]) <= 4096
        assert fault is None, fault


def sound(body: dict[str, Any]) -> Pcm:
    """The sound that a request for a transcription carries."""
    with wave.open(io.BytesIO(body["file"])) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def heard(text: str, **more: Any) -> Answer:
    """An answer of a model that gives texts alone."""
    body = {"text": text, **more}
    checked(body, Transcription)
    return Answer(body=body)


def heard_in_detail(text: str, language: str = "english", **segment: Any) -> Answer:
    """An answer of Whisper, with one segment."""
    figures = {"avg_logprob": -0.2, "compression_ratio": 1.2, "no_speech_prob": 0.01, "temperature": 0.0, **segment}
    one = {"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": text, "tokens": [1, 2, 3], **figures}
    body = {"text": text, "language": language, "duration": 1.0, "segments": [one]}
    checked(body, TranscriptionVerbose)
    return Answer(body=body)


def refused(status: int, message: str, code: str | None = None) -> Answer:
    """A refusal in OpenAI's words."""
    return Answer(status=status, body={"error": {"message": message, "type": "error", "code": code, "param": None}})


def spoken(pcm: Pcm, piece: int = 1000) -> Answer:
    """Sound, sent in pieces of so many bytes."""
    return Answer([pcm.astype("<i2").tobytes()], piece=piece, polite=True)
