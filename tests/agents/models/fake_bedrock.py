"""A server on this machine that speaks enough of Bedrock's Converse to test a client against, framing included."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from tests.agents.models.fake_server import Answer, FakeServer

Event = dict[str, Any]

_STRING = 7
"""Type of a header whose value is text."""


@dataclass
class FakeBedrock(FakeServer):
    """Checks requests with Amazon's own model of the service. Blobs in ``bodies`` are base64, as on the wire."""

    stream_type: str = "application/vnd.amazon.eventstream"

    def encode(self, frame: Any) -> bytes:
        return message(*frame)

    def check(self, path: str, body: Any) -> None:
        _, kind, model, operation = path.split("/")
        assert kind == "model" and operation in ("converse", "converse-stream")
        validate({"modelId": unquote(model), **body})


def message(event: str, payload: Any, kind: str = "event") -> bytes:
    """One message of an event stream: prelude, its checksum, headers, payload, and the checksum of it all.

    ``kind`` is ``event``, or ``exception`` for one that ends the stream.
    """
    named = {":exception-type" if kind == "exception" else ":event-type": event}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + struct.pack("!BH", _STRING, len(value)) + value.encode()
        for name, value in {**named, ":content-type": "application/json", ":message-type": kind}.items()
    )
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    data = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return data + struct.pack("!I", crc32(data))


def validate(parameters: Any) -> None:
    """Raise unless the service's model allows ``parameters``, with what the model cannot say."""
    shape = _shape()
    given = _blobs(parameters, shape)
    report = _validator().validate(given, shape)
    assert not report.has_errors(), report.generate_report()
    _known(given, shape)
    messages = given["messages"]
    assert messages[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in itertools.pairwise(messages))
    assert json.dumps(given, default=str).count('"cachePoint"') <= 4
    asked: list[str] = []
    for one in messages:
        blocks = one["content"]
        assert blocks and all(len(block) == 1 for block in blocks)
        assert all(block["text"].strip() for block in blocks if "text" in block)
        answered = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
        assert sorted(answered) == sorted(asked)
        asked = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        assert not asked or given["toolConfig"]["tools"]
        documents = [block for block in blocks if "document" in block]
        assert not documents or any("text" in block for block in blocks)
    assert not asked


@functools.cache
def _shape() -> Any:
    from botocore.session import get_session

    return get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape


def _validator() -> Any:
    from botocore.validate import ParamValidator

    return ParamValidator()


def _blobs(value: Any, shape: Any) -> Any:
    """``value`` with the bytes that base64 stands for on the wire."""
    match shape.type_name:
        case "structure" if isinstance(value, Mapping) and not getattr(shape, "is_document_type", False):
            return {k: _blobs(v, shape.members[k]) if k in shape.members else v for k, v in value.items()}
        case "list" if isinstance(value, list):
            return [_blobs(one, shape.member) for one in value]
        case "blob":
            return base64.b64decode(value, validate=True)
        case _:
            return value


def _known(value: Any, shape: Any) -> None:
    """Fail for fields, words and patterns that the model does not know: its validator lets them pass."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        assert set(value) <= set(shape.members), f"{shape.name} knows no {set(value) - set(shape.members)}"
        for name, one in value.items():
            _known(one, shape.members[name])
    elif shape.type_name == "list":
        for one in value:
            _known(one, shape.member)
    elif shape.type_name == "string":
        assert not getattr(shape, "enum", None) or value in shape.enum, f"{shape.name} is never {value!r}"
        pattern = shape.metadata.get("pattern")
        assert not pattern or re.fullmatch(pattern, value), f"{shape.name} is never {value!r}"
        assert len(value) <= shape.metadata.get("max", len(value)), f"{shape.name} is too long"


def begin() -> list[Any]:
    return [("messageStart", {"role": "assistant"})]


def text(index: int, *pieces: str) -> list[Any]:
    return [*(_delta(index, {"text": piece}) for piece in pieces), _stop(index)]


def call(index: int, call_id: str, name: str, *pieces: str) -> list[Any]:
    start = {"start": {"toolUse": {"toolUseId": call_id, "name": name}}, "contentBlockIndex": index}
    deltas = (_delta(index, {"toolUse": {"input": piece}}) for piece in pieces)
    return [("contentBlockStart", start), *deltas, _stop(index)]


def thought(index: int, *pieces: Event) -> list[Any]:
    return [*(_delta(index, {"reasoningContent": piece}) for piece in pieces), _stop(index)]


def end(stop_reason: str = "end_turn", **usage: int) -> list[Any]:
    counts = {"inputTokens": 10, "outputTokens": 7, "totalTokens": 17, **usage}
    return [("messageStop", {"stopReason": stop_reason}), ("metadata", {"usage": counts, "metrics": {"latencyMs": 5}})]


def says(*pieces: str, **options: Any) -> Answer:
    return Answer([*begin(), *text(0, *pieces), *end()], **options)


def whole(*content: Event, stop_reason: str = "end_turn") -> Answer:
    usage = {"inputTokens": 10, "outputTokens": 7, "totalTokens": 17}
    body = {"output": {"message": {"role": "assistant", "content": list(content)}}, "stopReason": stop_reason}
    return Answer(body={**body, "usage": usage, "metrics": {"latencyMs": 5}})


def _delta(index: int, delta: Event) -> Any:
    return ("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})


def _stop(index: int) -> Any:
    return ("contentBlockStop", {"contentBlockIndex": index})
