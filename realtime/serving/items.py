"""The items of a conversation: what they are, how clients see them, and what a mind makes of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from agents.core.messages import ContentPart, Heard, Message, Source, ToolCall, ToolResult, ToolResultData
from audio.heard import HeardTracker

ItemKind = Literal["message", "function_call", "function_call_output"]
Role = Literal["user", "assistant", "system"]
Status = Literal["in_progress", "completed", "incomplete"]
PartKind = Literal["input_text", "input_audio", "input_image", "output_text", "output_audio"]

_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,(.+)", re.DOTALL)


def new_id(kind: str) -> str:
    """A fresh id of the protocol's: ``item_…``, ``resp_…``."""
    return f"{kind}_{uuid4().hex[:24]}"


@dataclass
class Part:
    """A part of a message; ``text`` is what was written or said, or a picture's address."""

    kind: PartKind
    text: str | None = None


@dataclass
class Speech:
    """How the sound of an answer and its words go together; samples of the output's rate."""

    rate_hz: int
    tracker: HeardTracker = field(default_factory=HeardTracker)
    samples: int = 0

    @property
    def milliseconds(self) -> int:
        """How long it is."""
        return self.samples * 1000 // self.rate_hz


def _known() -> asyncio.Event:
    known = asyncio.Event()
    known.set()
    return known


@dataclass
class Item:
    """One item.

    Attributes:
        kind: what it is.
        id: its name in the protocol.
        role: who speaks, of a message.
        parts: of a message.
        status: whether it is whole.
        call_id: of a call and its result.
        name: of the tool.
        arguments: of the call, JSON.
        output: of the tool.
        language: of its words (BCP-47 primary tag), where it is known.
        known: set once the words of its sound are known, or will never be.
        speech: of an answer that is spoken.
        heard: how much of that is known to have been heard.
    """

    kind: ItemKind
    id: str = field(default_factory=lambda: new_id("item"))
    role: Role | None = None
    parts: list[Part] = field(default_factory=list[Part])
    status: Status = "completed"
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: str = ""
    language: str | None = None
    known: asyncio.Event = field(default_factory=_known)
    speech: Speech | None = None
    heard: Heard | None = None

    @property
    def text(self) -> str:
        """The words of a message."""
        return "\n".join(part.text for part in self.parts if part.text and part.kind != "input_image")

    @property
    def is_silent(self) -> bool:
        """Whether a user's sound turned out to hold no words."""
        return self.role == "user" and all(part.kind == "input_audio" and not part.text for part in self.parts)

    def told(self) -> dict[str, Any]:
        """The item as clients see it. Sound is not kept, so it is not told."""
        common: dict[str, Any] = {"id": self.id, "object": "realtime.item", "type": self.kind}
        if self.kind == "function_call_output":
            return {**common, "call_id": self.call_id, "output": self.output}
        common["status"] = self.status
        if self.kind == "function_call":
            return {**common, "call_id": self.call_id, "name": self.name, "arguments": self.arguments}
        return {**common, "role": self.role, "content": [_told(part) for part in self.parts]}


def _told(part: Part) -> dict[str, Any]:
    match part.kind:
        case "input_text" | "output_text":
            return {"type": part.kind, "text": part.text or ""}
        case "input_image":
            return {"type": part.kind, "image_url": part.text or ""}
        case "input_audio" | "output_audio":
            return {"type": part.kind, "transcript": part.text}


def messages_of(items: Iterable[Item]) -> list[Message]:
    """The conversation for a mind. Neighbouring calls are one message, and so are their results."""
    items = list(items)
    names = {item.call_id: item.name for item in items if item.kind == "function_call"}
    messages: list[Message] = []
    for item in items:
        match item.kind:
            case "function_call":
                _join_call(messages, item)
            case "function_call_output":
                _join_result(messages, item, names.get(item.call_id, ""))
            case "message":
                if not item.is_silent:
                    messages.append(_message(item))
    return messages


def _message(item: Item) -> Message:
    if item.role == "assistant":
        return Message(sender="agent", id=item.id, text=item.text, heard=item.heard)
    if item.role == "system":
        return Message(sender="user", id=item.id, text=f"[System: {item.text}]", framework_context="notice")
    if any(part.kind == "input_image" for part in item.parts):
        return Message(sender="user", id=item.id, text=item.text, content=[_content(part) for part in item.parts])
    return Message(sender="user", id=item.id, text=item.text)


def _content(part: Part) -> ContentPart:
    if part.kind != "input_image":
        return ContentPart(type="text", text=part.text or "")
    inline = _DATA_URL.fullmatch(part.text or "")
    if inline is None:
        return ContentPart(type="image", source=Source(type="url", url=part.text))
    return ContentPart(type="image", source=Source(type="base64", media_type=inline[1], data=inline[2]))


def _join_call(messages: list[Message], item: Item) -> None:
    try:
        arguments: Any = json.loads(item.arguments or "{}")
    except ValueError:
        arguments = item.arguments
    call = ToolCall(tool_name=item.name, input_args=arguments, id=item.call_id)
    last = messages[-1] if messages else None
    if last is None or last.sender != "agent":
        last = Message(sender="agent", id=item.id)
        messages.append(last)
    last.tool_calls = [*(last.tool_calls or ()), call]


def _join_result(messages: list[Message], item: Item, name: str) -> None:
    result = ToolResult(tool_name=name, call_id=item.call_id, result=ToolResultData(data=item.output))
    last = messages[-1] if messages else None
    if last is None or not last.tool_results:
        last = Message(sender="user", text="tool results", tool_results=[])
        messages.append(last)
    last.tool_results = [*(last.tool_results or ()), result]


def language_of(items: Sequence[Item], default: str) -> str:
    """The language of the last words of a user whose language is known."""
    return next((item.language for item in reversed(items) if item.language and item.role == "user"), default)
