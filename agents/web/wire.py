"""What goes over the wire: an agent's events, its slots, and how a turn ended, as JSON objects."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic_core import to_jsonable_python

from agents.core.display import Slot, SlotPushed, SlotResolved, SlotUpdated
from agents.core.events import AgentEvent, ToolUseResult
from agents.core.messages import Message, TokenUsage

DEEPEST = 100
"""Containers within containers that are told of a value of which only parts can be told."""

Event = dict[str, Any]
"""One event; ``type`` names it."""

SlotChange = SlotPushed | SlotUpdated | SlotResolved


def jsonable(value: object) -> Any:
    """``value`` with everything in it that JSON does not know made into something it knows.

    Fields of ours that are None are left out, NaN becomes null, and unknown objects become their text.
    """
    return to_jsonable_python(value, exclude_none=True, inf_nan_mode="null", fallback=str)


def to_text(value: object) -> str:
    """``value`` as one line of JSON. Never fails: a part that cannot be JSON becomes the name of its type.

    One bad part must not keep everybody from being told the rest.
    """
    try:
        return _dumps(jsonable(value))
    except (ValueError, TypeError, RecursionError):
        return _dumps(_salvaged(value, ()))


def to_json(value: object) -> bytes:
    """``to_text`` in UTF-8. Halves of characters, as broken tools produce, are spelled out: UTF-8 has none."""
    return to_text(value).encode(errors="backslashreplace")


def _dumps(ready: object) -> str:
    return json.dumps(ready, ensure_ascii=False, separators=(",", ":"))


def _salvaged(value: object, inside: tuple[int, ...]) -> Any:
    """``value`` without the parts that cannot be JSON; ``inside`` are the containers around it."""
    if isinstance(value, dict | list | tuple):
        if id(value) in inside or len(inside) >= DEEPEST:
            return type(value).__name__
        inside = (*inside, id(value))
        if isinstance(value, dict):
            fields = cast("dict[object, object]", value)
            return {str(_salvaged(name, inside)): _salvaged(field, inside) for name, field in fields.items()}
        return [_salvaged(item, inside) for item in cast("Sequence[object]", value)]
    try:
        ready = jsonable(value)
        _dumps(ready)
    except (ValueError, TypeError, RecursionError):
        return type(value).__name__
    return ready


def agent_event(event: AgentEvent) -> Event:
    """An event of the agent under its wire name, with the aliases that clients look for."""
    told: Event = {"type": event.type}
    told |= {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    if isinstance(event, ToolUseResult):
        told |= {"id": event.id, "name": event.name}
    return told


def slot_event(event: SlotChange) -> Event:
    """A change of the display stack."""
    match event:
        case SlotPushed():
            return {"type": event.type, **slot_fields(event.slot)}
        case SlotUpdated():
            return {"type": event.type, "id": event.slot.id, "input": event.slot.input}
        case SlotResolved():
            return {"type": event.type, "id": event.slot.id, "answered": event.answered, "value": event.value}


def slot_fields(slot: Slot) -> Event:
    """One card or question."""
    return {"id": slot.id, "renderer": slot.renderer, "input": slot.input, "blocking": slot.blocking}


def done_event(message: Message, usage: TokenUsage, stop_reason: str | None = None) -> Event:
    """The event that ends a turn or a model call."""
    told: Event = {"type": "done", "message": message, "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    for name in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        if count := getattr(usage, name):
            told[name] = count
    return {**told, "stop_reason": stop_reason} if stop_reason else told


def failed_event(fault: Event, usage: TokenUsage | None = None) -> Event:
    """A ``done`` for what went wrong: ``error`` says it to programs, the text to clients that know no ``error``."""
    message = Message(sender="agent", text=f"Error: {fault['message']}")
    return {**done_event(message, usage or TokenUsage()), "error": fault}


def one_message(messages: Sequence[Message]) -> Message:
    """The messages of one model call as the one that clients expect."""
    if len(messages) == 1:
        return messages[0]
    calls = [call for message in messages for call in message.tool_calls or ()]
    text = "\n".join(message.text for message in messages if message.text)
    return Message(sender="agent", text=text, tool_calls=calls or None)
