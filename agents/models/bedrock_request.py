"""Requests in the format of Bedrock's Converse: blocks, tools, and where the prompt cache may cut."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from agents.core.model import PromptRequest, ToolSpec
from agents.models.arguments import as_object, in_alphabet, object_schema
from agents.models.bedrock_media import MediaWires
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

PROVIDER = "bedrock"
"""Key of this provider's state in ``Message.provider_options``."""

EMPTY_RESULT = "(nothing)"
"""Stands in for a tool result without text, which the format refuses."""

_MAX_ID = 64
_MAX_NAME = 64

Wire = dict[str, Any]


def build(request: PromptRequest, *, model: str, max_tokens: int, cache: CacheTtl | None, thinking: int | None) -> Wire:
    """The keyword arguments of one call of ``converse`` or ``converse_stream``."""
    turns = normalise(request.messages)
    messages = _Messages(model).of(turns, None if cache is None else _cut(model, cache))
    wire: Wire = {"modelId": model, "messages": messages, "inferenceConfig": {"maxTokens": max_tokens}}
    if request.system_prompt.strip():
        wire["system"] = [{"text": request.system_prompt}]
    if tools := _tools(request.tools, turns):
        wire["toolConfig"] = {"tools": tools}
    if cache is not None:
        if "system" in wire:
            wire["system"].append(_cut(model, cache))
        if tools and not is_nova(model):
            tools.append(_cut(model, cache))
    if thinking is not None and not thoughts_missing(turns, lambda options: bool(_reasoning(options, model))):
        wire["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": thinking}}
    return wire


def is_nova(model: str) -> bool:
    """Whether ``model`` is one of Amazon's own, which take no cache points behind tools and no time to live."""
    return "amazon.nova" in model


def caches(model: str) -> bool:
    """Whether ``model`` is of a family that takes cache points; others refuse the whole request."""
    old = ("claude-instant", "claude-v2", "claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-3-5-sonnet")
    return is_nova(model) or ("anthropic.claude" in model and not any(name in model for name in old))


def _cut(model: str, cache: CacheTtl) -> Wire:
    point = {"type": "default"} if is_nova(model) else {"type": "default", "ttl": cache}
    return {"cachePoint": point}


def _tools(specs: Sequence[ToolSpec], turns: Sequence[Turn]) -> list[Wire]:
    # The format wants tools for the calls in a history, also where none shall be called now.
    wanted = specs or [ToolSpec(_name(name), "", {}) for name in tools_of_history(turns)]
    return [_tool(spec) for spec in wanted]


def _tool(spec: ToolSpec) -> Wire:
    described = {"description": spec.description} if spec.description.strip() else {}
    return {"toolSpec": {"name": spec.name, **described, "inputSchema": {"json": object_schema(spec)}}}


class _Messages:
    """Turns as messages of one request; names of documents are unique within it."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._media = MediaWires()

    def of(self, turns: Sequence[Turn], cut: Wire | None) -> list[Wire]:
        """``turns`` with ``cut`` behind the blocks where the cache may cut."""
        placed = [
            [(block.transient, wire) for block in turn.blocks for wire in self._wires(block.content)] for turn in turns
        ]
        flat = [(transient, "reasoningContent" not in wire) for wires in placed for transient, wire in wires]
        marked = set(cuts(flat)) if cut is not None else set[int]()
        messages: list[Wire] = []
        index = 0
        for turn, wires in zip(turns, placed, strict=True):
            content: list[Wire] = []
            for _, wire in wires:
                content.append(wire)
                if cut is not None and index in marked:
                    content.append(cut)
                index += 1
            if any("document" in wire for wire in content) and not any("text" in wire for wire in content):
                content.insert(0, {"text": "(See the attachment.)"})
            messages.append({"role": turn.role, "content": content})
        if messages and messages[0]["role"] == "assistant":
            messages.insert(0, {"role": "user", "content": [{"text": OPENING}]})
        return messages

    def _wires(self, content: Content) -> list[Wire]:
        match content:
            case TextBlock():
                return [{"text": content.text}]
            case CallBlock():
                call = {"toolUseId": _id(content.id), "name": _name(content.name), "input": as_object(content.input)}
                return [{"toolUse": call}]
            case ResultBlock():
                told = content.text if content.text.strip() else EMPTY_RESULT
                result: Wire = {"toolUseId": _id(content.call_id), "content": [{"text": told}]}
                return [{"toolResult": {**result, "status": "error"} if content.is_error else result}]
            case MediaBlock():
                return [self._media.of(content.part)]
            case StateBlock():
                return _reasoning(content.options, self._model)


def _id(call_id: str) -> str:
    return in_alphabet(call_id, r"[^A-Za-z0-9_.:-]", _MAX_ID)


def _name(name: str) -> str:
    return in_alphabet(name, r"[^A-Za-z0-9_-]", _MAX_NAME)


def _reasoning(options: dict[str, Any], model: str) -> list[Wire]:
    """A message's thoughts, if the model that is asked wrote them: others refuse them."""
    state = options.get(PROVIDER)
    if not isinstance(state, dict) or state.get("model") != model:
        return []
    blocks: list[Wire] = []
    for block in state.get("reasoning") or ():
        if "redacted" in block:
            blocks.append({"reasoningContent": {"redactedContent": base64.b64decode(block["redacted"])}})
        else:
            blocks.append({"reasoningContent": {"reasoningText": dict(block)}})
    return blocks
