"""A server on this machine that speaks enough of Chat Completions to test a client against."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.agents.models import typed_values
from tests.agents.models.fake_server import Answer, FakeServer


@dataclass
class FakeOpenAi(FakeServer):
    """Checks requests with the types of OpenAI's SDK."""

    path: str = "/v1"
    end: bytes = b"data: [DONE]\n\n"

    def encode(self, frame: Any) -> bytes:
        return f"data: {json.dumps(frame)}\n\n".encode()

    def check(self, path: str, body: Any) -> None:
        assert path == "/v1/chat/completions"
        validate(body)


EXTENSIONS = frozenset({"reasoning_content", "reasoning", "thinking", "extra_content", "cache_control", "video_url"})
"""Fields of other providers, which OpenAI's types do not know."""


def validate(body: Any) -> None:
    """Raise unless ``body`` is what OpenAI's SDK says that it is, with what the types cannot say."""
    from openai.types.chat.completion_create_params import (
        CompletionCreateParamsNonStreaming,
        CompletionCreateParamsStreaming,
    )

    wanted = CompletionCreateParamsNonStreaming | CompletionCreateParamsStreaming
    fault = typed_values.fault(_without_films(body), wanted, EXTENSIONS)
    assert fault is None, fault
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        for call in message.get("tool_calls") or ():
            assert len(call["id"]) <= 40 and re.fullmatch("[A-Za-z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_calls.append(call["id"])
    assert not open_calls


def _without_films(body: Any) -> Any:
    """``body`` without parts that only some other providers take."""
    if isinstance(body, dict):
        return {name: _without_films(value) for name, value in body.items()}
    if isinstance(body, list):
        return [_without_films(one) for one in body if not (isinstance(one, dict) and one.get("type") == "video_url")]
    return body


def chunk(finish: str | None = None, usage: dict[str, Any] | None = None, **delta: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return {**common, "usage": usage} if usage else common


def call(index: int, call_id: str | None = None, name: str | None = None, arguments: str = "", **more: Any) -> Any:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"index": index, **({"id": call_id, "type": "function"} if call_id else {}), "function": function, **more}


def usage(tokens_in: int = 10, tokens_out: int = 7, cached: int = 0) -> dict[str, Any]:
    counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    last = chunk(usage={**counts, "prompt_tokens_details": {"cached_tokens": cached}})
    return {**last, "choices": []}


def says(*pieces: str, finish: str = "stop", **options: Any) -> Answer:
    chunks = [chunk(role="assistant", content=""), *(chunk(content=piece) for piece in pieces)]
    return Answer([*chunks, chunk(finish), usage()], **options)


def whole(**message: Any) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(body={**body, "usage": usage()["usage"]})
