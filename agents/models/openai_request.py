"""Requests in the Chat Completions format that most providers and local servers speak."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.core.messages import ContentPart, media_note
from agents.core.model import PromptRequest, ToolSpec
from agents.models.arguments import as_object, in_alphabet, object_schema
from agents.models.caching import CacheTtl
from agents.models.normalise import (
    Block,
    CallBlock,
    MediaBlock,
    ResultBlock,
    TextBlock,
    Turn,
    normalise,
)

Wire = dict[str, Any]

Effort = Literal["minimal", "low", "medium", "high"]

IMAGES: frozenset[str] = frozenset({"image"})
"""What nearly every server with eyes takes."""

_MAX_ID = 40
_MAX_NAME = 64


@dataclass(frozen=True)
class Reasoning:
    """How a model's thoughts are asked for and kept.

    Attributes:
        include_in_text: put them into the reply's text as ``<think>…</think>``; they are then spoken and shown.
        echo: send earlier thoughts back; some providers demand it after tool calls, others refuse it.
        effort: sent as ``reasoning_effort``.
        reasoning_object: sent as ``reasoning`` (``effort``, ``max_tokens``, ``exclude``, ``enabled``).
        thinking: sent as ``thinking`` (``type``, ``budget_tokens``).
        extra_body: further fields of the request; they win over all others.
    """

    include_in_text: bool = False
    echo: bool = True
    effort: Effort | None = None
    reasoning_object: Mapping[str, Any] | None = None
    thinking: Mapping[str, Any] | None = None
    extra_body: Mapping[str, Any] | None = None

    def fields(self) -> Wire:
        """The fields of the request body that ask for thoughts."""
        asked = {"reasoning_effort": self.effort, "reasoning": self.reasoning_object, "thinking": self.thinking}
        return {name: value for name, value in asked.items() if value is not None} | dict(self.extra_body or {})


@dataclass(frozen=True)
class Dialect:
    """What sets one provider's Chat Completions apart from another's.

    Attributes:
        provider: id of the provider; state that it gave with a tool call is sent back to it alone.
        media: kinds of parts that it takes beside text: ``image``, ``audio``, ``document``, ``video``.
        token_field: name of the field that limits the length of a reply.
        cache_marks: whether it reads Anthropic's marks of where a prompt may be cached.
        wants_thoughts: whether it refuses tool calls in a history that come without the thoughts behind them.
    """

    provider: str = "openai-compat"
    media: frozenset[str] = field(default=IMAGES)
    token_field: str = "max_tokens"
    cache_marks: bool = False
    wants_thoughts: bool = False


def build(
    request: PromptRequest,
    *,
    model: str,
    max_tokens: int,
    dialect: Dialect,
    stream: bool = True,
    reasoning: Reasoning | None = None,
    cache: CacheTtl | None = None,
) -> Wire:
    """The keyword arguments of one call of the SDK."""
    turns = normalise(request.messages)
    echo = reasoning is not None and reasoning.echo
    messages = [wire for turn in turns for wire in _turn(turn, dialect, echo)]
    if request.system_prompt:
        messages.insert(0, {"role": "system", "content": request.system_prompt})
    if cache is not None and dialect.cache_marks:
        _mark(messages, turns, cache)
    wire: Wire = {"model": model, dialect.token_field: max_tokens, "messages": messages, "stream": stream}
    if request.tools:
        wire["tools"] = [_tool(spec) for spec in request.tools]
    if stream:
        wire["stream_options"] = {"include_usage": True}
    if reasoning is not None and (fields := reasoning.fields()):
        wire["extra_body"] = fields
    return wire


def _turn(turn: Turn, dialect: Dialect, echo: bool) -> list[Wire]:
    if turn.role == "assistant":
        return [_assistant(turn, dialect, echo)]
    results = [block.content for block in turn.blocks if isinstance(block.content, ResultBlock)]
    wires: list[Wire] = [{"role": "tool", "tool_call_id": _id(one.call_id), "content": one.text} for one in results]
    parts = [part for block in turn.blocks if (part := _part(block, dialect)) is not None]
    if parts:
        wires.append({"role": "user", "content": _content(parts)})
    return wires


def _assistant(turn: Turn, dialect: Dialect, echo: bool) -> Wire:
    text = "\n".join(block.content.text for block in turn.blocks if isinstance(block.content, TextBlock))
    calls = [_call(block.content, dialect) for block in turn.blocks if isinstance(block.content, CallBlock)]
    wire: Wire = {"role": "assistant", "content": text or None}
    if calls:
        wire["tool_calls"] = calls
    elif not text:
        wire["content"] = ""
    if echo and turn.reasoning:
        wire["reasoning_content"] = turn.reasoning
    elif calls and dialect.wants_thoughts:
        # Another model made these calls; no thoughts is a thought that is accepted.
        wire["reasoning_content"] = ""
    return wire


def _call(call: CallBlock, dialect: Dialect) -> Wire:
    # Servers put the arguments into a template: text that is no JSON would make them refuse the whole history.
    function = {"name": in_alphabet(call.name, r"[^A-Za-z0-9_-]", _MAX_NAME), "arguments": _json(as_object(call.input))}
    wire: Wire = {"id": _id(call.id), "type": "function", "function": function}
    state = (call.provider_options or {}).get(dialect.provider)
    return {**wire, "extra_content": state} if state is not None else wire


def _id(call_id: str) -> str:
    return in_alphabet(call_id, r"[^\x21-\x7e]", _MAX_ID)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _content(parts: Sequence[Wire]) -> str | list[Wire]:
    """Plain text where there is nothing else: many servers take no list."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return list(parts)


def _part(block: Block, dialect: Dialect) -> Wire | None:
    match block.content:
        case TextBlock():
            return {"type": "text", "text": block.content.text}
        case MediaBlock():
            return _media(block.content.part, dialect)
        case _:
            return None


def _media(part: ContentPart, dialect: Dialect) -> Wire:
    """``part`` as the provider takes it, or a note in its place."""
    source = part.source
    if part.type in dialect.media and source is not None and (source.data or source.url):
        match part.type:
            case "image":
                return {"type": "image_url", "image_url": {"url": _url(part, "image/png")}}
            case "video":
                return {"type": "video_url", "video_url": {"url": _url(part, "video/mp4")}}
            case "audio" if source.data:
                form = source.media_type.rpartition("/")[2].removeprefix("x-") or "wav"
                return {
                    "type": "input_audio",
                    "input_audio": {"data": source.data, "format": "mp3" if form == "mpeg" else form},
                }
            case "document" if source.data:
                name = part.name or "document.pdf"
                return {"type": "file", "file": {"filename": name, "file_data": _url(part, "application/pdf")}}
            case _:
                # A recording or a document by address: the format takes neither.
                pass
    return {"type": "text", "text": media_note(part)}


def _url(part: ContentPart, media_type: str) -> str:
    source = part.source
    assert source is not None
    return source.url or f"data:{source.media_type or media_type};base64,{source.data}"


def _tool(spec: ToolSpec) -> Wire:
    function = {"name": spec.name, "description": spec.description, "parameters": object_schema(spec)}
    return {"type": "function", "function": function}


def _mark(messages: list[Wire], turns: Sequence[Turn], cache: CacheTtl) -> None:
    """Mark the system prompt, and the newest turn unless something in it will not be there next time."""
    control = {"type": "ephemeral", "ttl": cache}
    if messages and messages[0]["role"] == "system":
        _mark_one(messages[0], control)
    if not turns or any(block.transient for block in turns[-1].blocks):
        return
    if messages[-1]["role"] == "user":
        _mark_one(messages[-1], control)


def _mark_one(message: Wire, control: Wire) -> None:
    content = message["content"]
    parts: list[Wire] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts[-1] = {**parts[-1], "cache_control": control}
    message["content"] = parts
