"""Gemini Live for scripted peers: the dialect, and the messages of the server as it sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import numpy as np
from pydantic.alias_generators import to_camel

from audio.pcm import Pcm
from realtime.s2s.samples import decode_samples, encode_samples
from realtime.testing.dialect import Told, Violation
from realtime.testing.sdk_types import check_gemini_client, check_gemini_server
from realtime.testing.steps import Expect, Say, Step

RATE_HZ = 24_000
"""Of speech of the model."""

PIECE_SAMPLES = RATE_HZ // 10
"""Speech comes in pieces of 100 ms."""

_FREE_KEYS = frozenset({"args", "response", "properties", "labels"})
"""Fields in which the keys are the user's and keep their spelling."""


class GeminiDialect:
    """JSON in binary frames. Clients spell keys in either way, even within one message. ``key`` is asked for."""

    name = "Gemini"

    def __init__(self, key: str | None = None) -> None:
        self._key = key

    def decode(self, message: str | bytes) -> Told:
        """A message of the client, with all keys in camel case."""
        try:
            told = _camel(json.loads(message))
        except ValueError:
            raise Violation("the client sent no JSON") from None
        if not isinstance(told, dict):
            raise Violation("the client sent no object")
        check_gemini_client(cast("Told", told))
        return cast("Told", told)

    def kind(self, told: Told) -> str:
        """The message's key, or what of ``realtimeInput`` it is (``audio``, ``activityStart``, …)."""
        first = next(iter(told), "")
        return next(iter(told[first]), "") if first == "realtimeInput" else first

    def samples(self, told: Told) -> int:
        """Samples of ``realtimeInput.audio``, which must be at 16 kHz."""
        sound: Any = told.get("realtimeInput", {}).get("audio")
        if sound is None:
            return 0
        if sound.get("mimeType") != "audio/pcm;rate=16000":
            raise Violation(f"sound is at 16 kHz, not {sound.get('mimeType')}")
        return decode_samples(sound["data"].replace("-", "+").replace("_", "/")).size

    def encode(self, told: Told) -> bytes:
        """A message of the server: text in a binary frame."""
        check_gemini_server(told)
        return json.dumps(told).encode()

    def check_request(self, path: str, headers: Mapping[str, str]) -> None:
        """The live method of some version, with the key in a header or in the address."""
        parts = urlsplit(path)
        if "GenerativeService.BidiGenerateContent" not in parts.path:
            raise Violation(f"no address of the live method: {parts.path}")
        query = parse_qs(parts.query)
        given = headers.get("x-goog-api-key") or (query.get("key") or query.get("access_token") or [""])[0]
        if self._key is not None and given != self._key:
            raise Violation("the key is missing or wrong")


def accept(*, history: bool = False) -> list[Step]:
    """Steps that take a client in: its setup, which must come first, and its history if there is one."""
    steps: list[Step] = [Expect("setup"), Say(setup_complete())]
    return [*steps, Expect("clientContent")] if history else steps


def setup_complete(session_id: str = "live-1") -> Told:
    """The setup is taken."""
    return {"setupComplete": {"sessionId": session_id}}


def speech(pcm: Pcm) -> list[Told]:
    """Speech of the model, in pieces."""
    mime_type = f"audio/pcm;rate={RATE_HZ}"
    return [
        _content(modelTurn={"parts": [{"inlineData": {"mimeType": mime_type, "data": encode_samples(piece)}}]})
        for piece in np.split(pcm, range(PIECE_SAMPLES, pcm.size, PIECE_SAMPLES))
    ]


def words(text: str) -> Told:
    """Words of the model."""
    return _content(outputTranscription={"text": text})


def transcript(text: str, *, finished: bool = True) -> Told:
    """Words of the user."""
    return _content(inputTranscription={"text": text, **({"finished": True} if finished else {})})


def interrupted() -> Told:
    """The answer has ended early."""
    return _content(interrupted=True)


def generation_complete() -> Told:
    """All of the answer has been generated."""
    return _content(generationComplete=True)


def turn_complete(*, tokens: int | None = None) -> Told:
    """The turn has ended, with its use of tokens if it is given."""
    used = {"promptTokenCount": tokens, "responseTokenCount": tokens, "totalTokenCount": 2 * (tokens or 0)}
    return {**_content(turnComplete=True), **({"usageMetadata": used} if tokens is not None else {})}


def answer(text: str, pcm: Pcm) -> list[Told]:
    """A whole answer as the server sends it."""
    return [*speech(pcm), words(text), generation_complete(), turn_complete(tokens=12)]


def tool_calls(calls: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Told:
    """The model calls tools: id, name and arguments of each."""
    return {"toolCall": {"functionCalls": [{"id": one, "name": name, "args": dict(args)} for one, name, args in calls]}}


def cancel_calls(*call_ids: str) -> Told:
    """The results of these calls are not wanted any more."""
    return {"toolCallCancellation": {"ids": list(call_ids)}}


def go_away(seconds: float) -> Told:
    """The connection ends in so many seconds."""
    return {"goAway": {"timeLeft": f"{seconds:g}s"}}


def resumption(handle: str, *, resumable: bool = True) -> Told:
    """With what the session can be resumed."""
    return {"sessionResumptionUpdate": {"newHandle": handle, "resumable": resumable}}


def _content(**told: Any) -> Told:
    return {"serverContent": told}


def _camel(value: object) -> object:
    if isinstance(value, list):
        return [_camel(one) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    told = cast("dict[str, object]", value)
    return {to_camel(key): one if to_camel(key) in _FREE_KEYS else _camel(one) for key, one in told.items()}
