"""Requests in Anthropic's Messages format: blocks, tools, and where the prompt cache may cut."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from agents.core.messages import ContentPart, media_note
from agents.core.model import PromptRequest, ToolSpec
from agents.models.arguments import as_object, in_alphabet, object_schema
from agents.models.caching import CacheTtl, cuts
from agents.models.normalise import (
    OPENING,
    CallBlock,
    Content,
    MediaBlock,
    ResultBlock,
    StateBlock,
    TextBlock,
    Turn,
    normalise,
    thoughts_missing,
    tools_of_history,
)

PROVIDER = "anthropic"
"""Key of this provider's state in ``Message.provider_options``."""

MEDIA: frozenset[str] = frozenset({"image", "document"})
"""Kinds of parts that the format takes beside text."""

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_ID = 64
_MAX_NAME = 128

Wire = dict[str, Any]


def build(
    request: PromptRequest,
    *,
    model: str,
    max_tokens: int,
    cache: CacheTtl | None,
    thinking: int | None,
    stream: bool = True,
) -> Wire:
    """The keyword arguments of one call."""
    turns = normalise(request.messages)
    messages = [_turn(turn) for turn in turns]
    if cache is not None:
        _mark_messages(turns, messages, cache)
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    wire: Wire = {"model": model, "max_tokens": max_tokens, "messages": messages, "stream": stream}
    tools = [_tool(spec) for spec in request.tools]
    if not tools and (spoken_of := tools_of_history(turns)):
        # The format wants tools for the calls in a history, also where none shall be called now.
        tools = [_tool(ToolSpec(_name(name), "", {})) for name in spoken_of]
        wire["tool_choice"] = {"type": "none"}
    if request.system_prompt.strip():
        wire["system"] = [{"type": "text", "text": request.system_prompt}]
    if tools:
        wire["tools"] = tools
    if cache is not None and (stable := wire.get("system") or tools):
        # Tools are rendered before the system prompt, so a mark there covers both.
        stable[-1]["cache_control"] = _control(cache)
    if thinking is not None and not thoughts_missing(turns, lambda options: bool(_thinking(options))):
        wire["thinking"] = {"type": "enabled", "budget_tokens": thinking}
    return wire


def _control(cache: CacheTtl) -> Wire:
    return {"type": "ephemeral", "ttl": cache}


def _mark_messages(turns: Sequence[Turn], messages: Sequence[Wire], cache: CacheTtl) -> None:
    transience = [block.transient for turn in turns for block in turn.blocks for _ in _wires(block.content)]
    wires = [wire for message in messages for wire in message["content"]]
    ends = [wire["type"] not in ("thinking", "redacted_thinking") for wire in wires]
    for index in cuts(list(zip(transience, ends, strict=True))):
        wires[index]["cache_control"] = _control(cache)


def _turn(turn: Turn) -> Wire:
    return {"role": turn.role, "content": [wire for block in turn.blocks for wire in _wires(block.content)]}


def _wires(content: Content) -> list[Wire]:
    match content:
        case TextBlock():
            return [{"type": "text", "text": content.text}]
        case CallBlock():
            call_id, name = _id(content.id), _name(content.name)
            return [{"type": "tool_use", "id": call_id, "name": name, "input": as_object(content.input)}]
        case ResultBlock():
            wire: Wire = {"type": "tool_result", "tool_use_id": _id(content.call_id), "content": content.text}
            return [{**wire, "is_error": True} if content.is_error else wire]
        case MediaBlock():
            return [_media(content.part)]
        case StateBlock():
            return _thinking(content.options)


def _id(call_id: str) -> str:
    return in_alphabet(call_id, r"[^A-Za-z0-9_-]", _MAX_ID)


def _name(name: str) -> str:
    return in_alphabet(name, r"[^A-Za-z0-9_-]", _MAX_NAME)


def _thinking(options: dict[str, Any]) -> list[Wire]:
    state = options.get(PROVIDER)
    blocks = state.get("thinking") if isinstance(state, dict) else None
    return [dict(block) for block in blocks] if isinstance(blocks, list) else []


def _media(part: ContentPart) -> Wire:
    source = part.source
    note = {"type": "text", "text": media_note(part)}
    if source is None or part.type not in MEDIA:
        return note
    if source.type == "url":
        return {"type": part.type, "source": {"type": "url", "url": source.url}} if source.url else note
    if not source.data:
        return note
    media_type = source.media_type or ("image/png" if part.type == "image" else "application/pdf")
    if part.type == "image" and media_type == "image/jpg":
        media_type = "image/jpeg"
    if part.type == "document" and media_type.startswith("text/"):
        return _plain_text(source.data) or note
    if media_type not in (_IMAGES if part.type == "image" else ("application/pdf",)):
        return note
    return {"type": part.type, "source": {"type": "base64", "media_type": media_type, "data": source.data}}


def _plain_text(data: str) -> Wire | None:
    """A text document, which the format wants as text; None if it is none."""
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None
    if not text.strip():
        return None
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}


def _tool(spec: ToolSpec) -> Wire:
    return {"name": spec.name, "description": spec.description, "input_schema": object_schema(spec)}
