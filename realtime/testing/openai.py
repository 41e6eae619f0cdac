"""OpenAI Realtime for scripted peers: the dialect, and the messages of the server as it sends them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from audio.pcm import Pcm
from realtime.s2s.samples import decode_samples, encode_samples
from realtime.testing.dialect import Told, Violation
from realtime.testing.sdk_types import check_openai_client, check_openai_server
from realtime.testing.steps import Expect, Say, Step

if TYPE_CHECKING:
    from realtime.testing.session import PeerSession

RATE_HZ = 24_000
PIECE_SAMPLES = RATE_HZ // 10
"""Speech comes in pieces of 100 ms."""

_numbers = itertools.count(1)


class OpenAIDialect:
    """The general availability form of the protocol. A client needs ``key`` if there is one."""

    name = "OpenAI"

    def __init__(self, key: str | None = None, path: str = "/realtime") -> None:
        self._key = key
        self._path = path

    def decode(self, message: str | bytes) -> Told:
        """A message of the client."""
        try:
            told = json.loads(message)
        except ValueError:
            raise Violation("the client sent no JSON") from None
        check_openai_client(told)
        return told

    def kind(self, told: Told) -> str:
        """Its ``type``."""
        return told["type"]

    def samples(self, told: Told) -> int:
        """Samples of ``input_audio_buffer.append``."""
        return decode_samples(told["audio"]).size if told["type"] == "input_audio_buffer.append" else 0

    def encode(self, told: Told) -> str:
        """A message of the server, which gets an ``event_id``."""
        named = {"event_id": f"event_{next(_numbers)}", **told}
        check_openai_server(named)
        return json.dumps(named)

    def check_request(self, path: str, headers: Mapping[str, str]) -> None:
        """``…/realtime?model=…`` with the key as bearer token."""
        parts = urlsplit(path)
        if not parts.path.endswith(self._path) or not parse_qs(parts.query).get("model"):
            raise Violation(f"no address of a realtime model: {parts.path}")
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            raise Violation("the key is missing or wrong")


def accept(*, expires_at: float | None = None, history: int = 0) -> list[Step]:
    """Steps that take a client in: its settings, and so many messages of history."""
    return [
        Say(session_created(expires_at=expires_at)),
        Expect("session.update"),
        Say(lambda session: session_updated(session.last["session"])),
        *store_items(history),
    ]


def store_items(count: int = 1) -> list[Step]:
    """Steps that take so many new items into the conversation."""
    return [step for _ in range(count) for step in (Expect("conversation.item.create"), Say(item_stored))]


def session_created(session_id: str = "sess_1", *, expires_at: float | None = None) -> Told:
    """The first thing that the server says; ``expires_at`` is in Unix seconds."""
    session: dict[str, Any] = {"type": "realtime", "id": session_id, "object": "realtime.session"}
    if expires_at is not None:
        session["expires_at"] = int(expires_at)
    return {"type": "session.created", "session": session}


def session_updated(session: Told) -> Told:
    """The settings are taken."""
    return {"type": "session.updated", "session": {"id": "sess_1", "object": "realtime.session", **session}}


def item_stored(session: PeerSession) -> list[Told]:
    """What follows a new item of the client's."""
    item = {"id": f"item_{next(_numbers)}", **session.last["item"]}
    return [{"type": f"conversation.item.{what}", "previous_item_id": None, "item": item} for what in ("added", "done")]


def user_turn(text: str | None = None, item_id: str = "item_user") -> list[Told]:
    """The server has heard a whole turn of the user, and written it down if ``text`` is given."""
    told: list[Told] = [speech_started(item_id), *speech_stopped(item_id)]
    return told if text is None else [*told, *transcript(text, item_id)]


def speech_started(item_id: str = "item_user") -> Told:
    """The user begins to speak."""
    return {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": item_id}


def speech_stopped(item_id: str = "item_user") -> list[Told]:
    """The user is silent, and the turn is stored."""
    return [
        {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 1000, "item_id": item_id},
        {"type": "input_audio_buffer.committed", "item_id": item_id, "previous_item_id": None},
    ]


def transcript(text: str, item_id: str = "item_user") -> list[Told]:
    """What the user said, in a piece and whole."""
    named = {"item_id": item_id, "content_index": 0}
    kind = "conversation.item.input_audio_transcription"
    usage = {"type": "duration", "seconds": 1.0}
    return [
        {"type": f"{kind}.delta", **named, "delta": text},
        {"type": f"{kind}.completed", **named, "transcript": text, "usage": usage},
    ]


def response_created(response_id: str) -> Told:
    """An answer begins."""
    return {"type": "response.created", "response": {**_response(response_id), "status": "in_progress"}}


def response_done(
    response_id: str, status: str = "completed", output: Sequence[Told] = (), error: Told | None = None
) -> Told:
    """An answer has ended; ``error`` says why it ``failed``."""
    told: dict[str, Any] = {**_response(response_id), "status": status, "output": list(output)}
    if status == "cancelled":
        told["status_details"] = {"type": "cancelled", "reason": "turn_detected"}
    if error is not None:
        told["status_details"] = {"type": "failed", "error": dict(error)}
    told["usage"] = {"total_tokens": 12, "input_tokens": 8, "output_tokens": 4}
    return {"type": "response.done", "response": told}


def speech(pcm: Pcm, response_id: str, item_id: str) -> list[Told]:
    """Speech of the model, in pieces."""
    return [
        {"type": "response.output_audio.delta", **_place(response_id, item_id), "delta": encode_samples(piece)}
        for piece in np.split(pcm, range(PIECE_SAMPLES, pcm.size, PIECE_SAMPLES))
    ]


def words(text: str, response_id: str, item_id: str) -> Told:
    """Words of the model."""
    return {"type": "response.output_audio_transcript.delta", **_place(response_id, item_id), "delta": text}


def words_done(text: str, response_id: str, item_id: str) -> Told:
    """All words of an item."""
    return {"type": "response.output_audio_transcript.done", **_place(response_id, item_id), "transcript": text}


def answer(text: str, pcm: Pcm, response_id: str = "resp_1", item_id: str = "item_1") -> list[Told]:
    """A whole answer as the server sends it."""
    message = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "audio", "transcript": text}
    spoken = {**message, "status": "completed", "content": [{"type": "output_audio", "transcript": text}]}
    place = _place(response_id, item_id)
    return [
        response_created(response_id),
        {"type": "response.output_item.added", "response_id": response_id, "output_index": 0, "item": message},
        {"type": "conversation.item.added", "previous_item_id": None, "item": message},
        {"type": "response.content_part.added", **place, "part": {"type": "audio", "transcript": ""}},
        words(text, response_id, item_id),
        *speech(pcm, response_id, item_id),
        {"type": "response.output_audio.done", **place},
        words_done(text, response_id, item_id),
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "response_id": response_id, "output_index": 0, "item": spoken},
        {"type": "conversation.item.done", "previous_item_id": None, "item": spoken},
        response_done(response_id, output=[spoken]),
    ]


def tool_calls(calls: Sequence[tuple[str, str, str]], response_id: str = "resp_1") -> list[Told]:
    """An answer that calls tools: id, name and arguments (JSON) of each."""
    told = [response_created(response_id)]
    items: list[Told] = []
    for index, (call_id, name, arguments) in enumerate(calls):
        item = {"id": f"item_{call_id}", "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
        done = {**item, "arguments": arguments, "status": "completed"}
        place = {"response_id": response_id, "output_index": index}
        told += [
            {"type": "response.output_item.added", **place, "item": item},
            {
                "type": "response.function_call_arguments.done",
                **place,
                "item_id": item["id"],
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
            },
            {"type": "response.output_item.done", **place, "item": done},
        ]
        items.append(done)
    return [*told, response_done(response_id, output=items)]


def error(message: str, code: str | None = None, kind: str = "invalid_request_error") -> Told:
    """The server complains."""
    return {"type": "error", "error": {"type": kind, "code": code, "message": message}}


def _response(response_id: str) -> dict[str, Any]:
    return {"id": response_id, "object": "realtime.response", "output": []}


def _place(response_id: str, item_id: str) -> dict[str, Any]:
    return {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
