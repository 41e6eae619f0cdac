"""Deepgram's and Cartesia's recognisers in memory, checked with the types of the vendors' own SDKs."""

from __future__ import annotations

import inspect
import json
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

import cartesia.types.stt as cartesia_sdk
import numpy as np
from cartesia.types import STTErrorResponse
from cartesia.types.stt.manual_finalize_websocket_params import ManualFinalizeWebsocketParams
from cartesia.types.stt.stt_manual_finalize_websocket_request import STTManualFinalizeWebsocketRequest
from deepgram.listen.v1.client import V1Client
from deepgram.listen.v1.types import (
    ListenV1CloseStream,
    ListenV1Error,
    ListenV1Finalize,
    ListenV1KeepAlive,
    ListenV1Results,
)

from audio.providers.socket import Message
from tests.agents.models import typed_values
from tests.audio.providers.sockets import FakeConnection, FakeService, checked

LATENCY_S = 0.2


class FakeStream(FakeService):
    """A service that takes sound as bytes, and counts what of it is no silence."""

    def __init__(self, finals: list[str] | None = None) -> None:
        super().__init__()
        self.finals = list(finals or [])
        self.heard_samples = 0

    def heard(self, connection: FakeConnection, message: Message) -> None:
        if isinstance(message, bytes):
            self.heard_samples += int(np.count_nonzero(np.frombuffer(message, "<i2")))
        else:
            self.told(connection, message)

    def told(self, connection: FakeConnection, message: str) -> None:
        raise NotImplementedError


class FakeDeepgram(FakeStream):
    """Says the first half of each text before it is asked to finish."""

    languages: tuple[str, ...] = ()

    def opened(self, connection: FakeConnection) -> None:
        query = dict(parse_qsl(urlsplit(connection.target.url).query))
        assert set(query) <= set(inspect.signature(V1Client.connect).parameters)

    def told(self, connection: FakeConnection, message: str) -> None:
        told = json.loads(message)
        checked(told, ListenV1Finalize, ListenV1KeepAlive, ListenV1CloseStream)
        assert told["type"] in ("Finalize", "KeepAlive", "CloseStream")
        if told["type"] == "Finalize":
            words = (self.finals.pop(0) if self.finals else "").split()
            half = len(words) // 2
            self.say(connection, " ".join(words[:half]), is_final=True)
            self.say(connection, " ".join(words[half:]), is_final=True, from_finalize=True)

    def say(self, connection: FakeConnection, text: str, **more: Any) -> None:
        heard: dict[str, Any] = {"transcript": text, "confidence": 0.9, "words": []}
        if self.languages:
            heard["languages"] = list(self.languages)
        about = {"request_id": "r", "model_uuid": "m", "model_info": {"name": "n", "version": "1", "arch": "a"}}
        told = {"type": "Results", "channel_index": [0, 1], "duration": 1.0, "start": 0.0, "metadata": about}
        connection.push(
            checked({**told, "channel": {"alternatives": [heard]}, **more}, ListenV1Results), after_s=LATENCY_S
        )

    def fail(self) -> None:
        told = {"type": "Error", "variant": "SchemaError", "description": "what was that"}
        self.connection.push(checked(told, ListenV1Error))


class FakeCartesia(FakeStream):
    """Texts come in stretches with their spacing."""

    def opened(self, connection: FakeConnection) -> None:
        query: dict[str, Any] = dict(parse_qsl(urlsplit(connection.target.url).query))
        query["sample_rate"] = int(query["sample_rate"])
        fault = typed_values.fault(query, ManualFinalizeWebsocketParams, frozenset({"language"}))
        assert fault is None, fault

    def told(self, connection: FakeConnection, message: str) -> None:
        assert message in get_args(STTManualFinalizeWebsocketRequest)
        text = self.finals.pop(0) if self.finals else ""
        half = len(text) // 2
        for part in filter(None, (text[:half], text[half:])):
            self.say(connection, part, is_final=True)
        done = {"type": "flush_done", "request_id": "r"}
        connection.push(checked(done, cartesia_sdk.STTManualFinalizeFlushDoneResponse), after_s=LATENCY_S)

    def say(self, connection: FakeConnection, text: str, **more: Any) -> None:
        told = {"type": "transcript", "request_id": "r", "is_final": False, "text": text, **more}
        connection.push(checked(told, cartesia_sdk.STTManualFinalizeTranscriptResponse), after_s=LATENCY_S)

    def fail(self, status: int, words: str) -> None:
        told = {"type": "error", "status_code": status, "message": words, "title": "No"}
        self.connection.push(checked(told, STTErrorResponse))
