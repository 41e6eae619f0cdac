"""A server on this machine that speaks enough of the Messages protocol to test a client against."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.agents.models import typed_values
from tests.agents.models.fake_server import Answer, FakeServer

Event = dict[str, Any]


@dataclass
class FakeAnthropic(FakeServer):
    """Checks requests with the types of Anthropic's SDK."""

    def encode(self, frame: Any) -> bytes:
        return f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode()

    def check(self, path: str, body: Any) -> None:
        assert path == "/v1/messages"
        validate(body)


def validate(body: Any) -> None:
    """Raise unless ``body`` is what Anthropic's SDK says that it is, with what the types cannot say."""
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

    fault = typed_values.fault(body, MessageCreateParamsNonStreaming | MessageCreateParamsStreaming)
    assert fault is None, fault
    messages = body["messages"]
    assert messages[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in itertools.pairwise(messages))
    assert json.dumps(body).count('"cache_control"') <= 4
    asked: list[str] = []
    for message in messages:
        blocks = message["content"]
        assert blocks and all(block["type"] != "text" or block["text"].strip() for block in blocks)
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(asked) and all(
            block["type"] == "tool_result" for block in blocks[: len(asked)]
        )
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(re.fullmatch("[A-Za-z0-9_-]+", call_id) for call_id in asked)
        assert not asked or body["tools"]
    assert not asked


def start(tokens_in: int = 10, **usage: int) -> Event:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": tokens_in, "output_tokens": 1, **usage},
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def block(index: int, content: Event, *deltas: Event) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[Event]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int, call_id: str, name: str, *pieces: str) -> list[Event]:
    content = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, content, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def end(stop_reason: str = "end_turn", tokens_out: int = 7) -> list[Event]:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens_out}},
        {"type": "message_stop"},
    ]


def says(*pieces: str) -> Answer:
    return Answer([start(), *text(0, *pieces), *end()])


def whole(*content: Event, stop_reason: str = "end_turn") -> Answer:
    body = {**start()["message"], "content": list(content), "stop_reason": stop_reason}
    return Answer(body={**body, "usage": {"input_tokens": 10, "output_tokens": 7}})
