"""Requests in Anthropic's Messages format: blocks, tools, and where the prompt cache may cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from agents.core.messages import ContentPart, media_note
from agents.core.model import PromptRequest, ToolSpec
from agents.models.normalise import (
    CallBlock,
    Content,
    MediaBlock,
    ResultBlock,
    StateBlock,
    TextBlock,
    Turn,
    normalise,
)

CacheTtl = Literal["5m", "1h"]

PROVIDER = "anthropic"
"""Key of this provider's state in ``Message.provider_options``."""

OPENING = "(The conversation begins with the assistant speaking.)"
"""Stands in where the agent spoke first: the format wants the user's turn before the assistant's."""

Wire = dict[str, Any]


def build(request: PromptRequest, *, model: str, max_tokens: int, cache: CacheTtl | None, thinking: int | None) -> Wire:
    """The keyword arguments of one streaming call."""
    turns = normalise(request.messages)
    messages = [_turn(turn) for turn in turns]
    if cache is not None:
        _mark_messages(turns, messages, cache)
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    wire: Wire = {"model": model, "max_tokens": max_tokens, "messages": messages, "stream": True}
    tools = [_tool(spec) for spec in request.tools]
    if request.system_prompt:
        wire["system"] = [{"type": "text", "text": request.system_prompt}]
    if tools:
        wire["tools"] = tools
    if cache is not None and (stable := wire.get("system") or tools):
        # Tools are rendered before the system prompt, so a mark there covers both.
        stable[-1]["cache_control"] = _control(cache)
    if thinking is not None:
        wire["thinking"] = {"type": "enabled", "budget_tokens": thinking}
    return wire


def _control(cache: CacheTtl) -> Wire:
    return {"type": "ephemeral", "ttl": cache}


def _mark_messages(turns: Sequence[Turn], messages: Sequence[Wire], cache: CacheTtl) -> None:
    """Mark the last saved block, and the last one before transient blocks that saved ones follow.

    The second prefix is what the next request begins with, once the transient blocks in between are gone.
    """
    places = list(_places(turns, messages))
    saved = [index for index, (transient, wire) in enumerate(places) if not transient and _may_carry_mark(wire)]
    if not saved:
        return
    places[saved[-1]][1]["cache_control"] = _control(cache)
    first_transient = next((index for index, (transient, _) in enumerate(places) if transient), len(places))
    before = [index for index in saved if index < first_transient]
    if before and before[-1] != saved[-1]:
        places[before[-1]][1]["cache_control"] = _control(cache)


def _may_carry_mark(wire: Wire) -> bool:
    return wire["type"] not in ("thinking", "redacted_thinking")


def _places(turns: Sequence[Turn], messages: Sequence[Wire]) -> Iterator[tuple[bool, Wire]]:
    """Every block of ``messages``, with whether it is transient."""
    for turn, message in zip(turns, messages, strict=True):
        wires = iter(message["content"])
        for block in turn.blocks:
            yield from ((block.transient, next(wires)) for _ in _wires(block.content))


def _turn(turn: Turn) -> Wire:
    return {"role": turn.role, "content": [wire for block in turn.blocks for wire in _wires(block.content)]}


def _wires(content: Content) -> list[Wire]:
    match content:
        case TextBlock():
            return [{"type": "text", "text": content.text}]
        case CallBlock():
            arguments = content.input if isinstance(content.input, dict) else _object(content.input)
            return [{"type": "tool_use", "id": _id(content.id), "name": content.name, "input": arguments}]
        case ResultBlock():
            wire: Wire = {"type": "tool_result", "tool_use_id": _id(content.call_id), "content": content.text}
            return [{**wire, "is_error": True} if content.is_error else wire]
        case MediaBlock():
            return [_media(content.part)]
        case StateBlock():
            return _thinking(content.options)


def _object(value: Any) -> Wire:
    """Arguments that are no object, as the format wants one."""
    return {} if value is None or value == "" else {"input": value}


def _id(call_id: str) -> str:
    """A call id in the alphabet that the format allows; ids of other providers may use more."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)


def _thinking(options: dict[str, Any]) -> list[Wire]:
    state = options.get(PROVIDER)
    blocks = state.get("thinking") if isinstance(state, dict) else None
    return [dict(block) for block in blocks] if isinstance(blocks, list) else []


def _media(part: ContentPart) -> Wire:
    source = part.source
    if source is None or part.type not in ("image", "document") or not (source.data or source.url):
        return {"type": "text", "text": media_note(part)}
    if source.type == "url":
        return {"type": part.type, "source": {"type": "url", "url": source.url}}
    media_type = source.media_type or ("image/png" if part.type == "image" else "application/pdf")
    return {"type": part.type, "source": {"type": "base64", "media_type": media_type, "data": source.data}}


def _tool(spec: ToolSpec) -> Wire:
    schema = {"type": "object", "properties": {}, **spec.parameters}
    return {"name": spec.name, "description": spec.description, "input_schema": schema}
