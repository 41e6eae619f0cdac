"""What a conversation is made of: the shapes that stores persist and model adapters translate.

Field names are wire format: other programs read stored conversations.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.base.errors import GloveError

_UNCHANGING = frozenset({type(None), str, int, float, bool, bytes})


class Shape(BaseModel):
    """Base of all persisted shapes: unknown fields of newer versions survive a round trip."""

    model_config = ConfigDict(extra="allow", validate_assignment=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy that shares nothing that can change.

        Histories are copied on every model call, and the general algorithm, which looks out for cycles that JSON
        values cannot have, takes ten times as long.
        """
        made = type(self).__new__(type(self))
        extra = self.__pydantic_extra__
        object.__setattr__(made, "__dict__", _copied_values(self.__dict__))
        object.__setattr__(made, "__pydantic_extra__", None if extra is None else _copied_values(extra))
        object.__setattr__(made, "__pydantic_fields_set__", self.__pydantic_fields_set__.copy())
        object.__setattr__(made, "__pydantic_private__", None)
        return made


def _copied_values(values: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(values)
    for key, value in made.items():
        if type(value) not in _UNCHANGING:
            made[key] = copied(value)
    return made


def copied(value: Any) -> Any:
    """A deep copy of one value: quickly for what JSON knows, by the general algorithm for anything else."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is list:
        return [copied(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _UNCHANGING else copied(item) for key, item in value.items()}
    return value.__deepcopy__() if isinstance(value, Shape) else copy.deepcopy(value)


DEEPEST = 100
"""How deep values of models and tools may be nested; parsers of JSON refuse more than about twice as much."""


def too_deep(value: Any, limit: int = DEEPEST) -> bool:
    """Whether a JSON value is nested more than ``limit`` deep."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [inner for each in level if isinstance(each, dict | list | tuple) for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    return cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value


class Source(Shape):
    """Where media comes from: inline base64 ``data`` or a ``url``."""

    type: Literal["base64", "url"]
    media_type: str = ""
    data: str | None = None
    url: str | None = None


class ContentPart(Shape):
    """One part of a multimodal message."""

    type: Literal["text", "image", "video", "document", "audio"]
    text: str | None = None
    name: str | None = None
    source: Source | None = None


def parts_text(parts: Iterable[ContentPart]) -> str:
    """The words of ``parts``, a line per part, without media."""
    return "\n".join(part.text for part in parts if part.type == "text" and part.text)


def content_parts(value: object, what: str) -> list[ContentPart]:
    """``value`` as parts of their own; ``what`` names it in a message.

    Raises ``GloveError`` (``ERR_CONTENT``) unless it is a sequence of ``ContentPart``, or of the same as JSON.
    """
    try:
        if not isinstance(value, list | tuple):
            raise TypeError(type(value).__name__)
        given = cast("Sequence[object]", value)
        return [
            part.model_copy(deep=True) if isinstance(part, ContentPart) else ContentPart.model_validate(part)
            for part in given
        ]
    except (TypeError, ValidationError) as fault:
        raise GloveError(
            "ERR_CONTENT", f"{what} is neither text nor a list of parts of content.", "Give it as text.", fault
        ) from fault


def media_note(part: ContentPart) -> str:
    """What stands in the place of ``part`` where media cannot go."""
    kind = part.source.media_type if part.source and part.source.media_type else part.type
    name = f" {part.name}" if part.name else ""
    return f"[Attachment omitted:{name} ({kind})]"


class ToolCall(Shape):
    """A model's request to run a tool. ``input_args`` is the raw JSON value, unvalidated."""

    tool_name: str
    input_args: Any = None
    id: str | None = None
    provider_options: dict[str, Any] | None = None


class ToolResultData(Shape):
    """What a tool gave back.

    ``data`` goes to the model; ``renderData`` to screens only; ``summary`` replaces ``data`` in older context;
    ``speech`` is the tool's own sentence for the user, used when no model phrases the answer.
    """

    status: Literal["success", "error", "aborted"] = "success"
    data: Any = None
    message: str | None = None
    renderData: Any = None
    summary: str | None = None
    generateSummaryArgs: Any = None
    speech: str | None = None


class ToolResult(Shape):
    """A tool result inside a message, tied to its call by ``call_id``. ``duration_ms`` covers all attempts."""

    tool_name: str
    call_id: str | None = None
    result: ToolResultData
    duration_ms: float | None = None


class EventRecord(Shape):
    """The plain facts of an event that a message tells of; ``text`` is its words as they came."""

    id: str
    source: str
    kind: str
    text: str = ""


Heard = Literal["complete", "interrupted", "unconfirmed"]
"""What is known of how much of a reply the user heard: all of it, no more than its text now says, or nothing."""


Delivery = Literal["iteration", "request", "history"]
"""When runtime context is read: before every model call; once per request; or likewise, and saved when changed."""


class Message(Shape):
    """One message of a conversation.

    ``id`` is set on every agent message before its first delta: it is the *reply id* under which the text that was
    really heard is reported back. ``heard`` is None until such a report arrives, then ``complete`` or ``interrupted``;
    it is ``unconfirmed`` if the program ended before. ``spoken`` is True where such a report was to come.

    Messages of the framework have a ``framework_context``. Those with ``runtime`` are made for a model call and never
    stored, except that ``delivery`` is ``history``.
    """

    sender: Literal["user", "agent"]
    text: str = ""
    id: str | None = None
    content: list[ContentPart] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_results: list[ToolResult] | None = None
    pre_modified_text: str | None = None
    is_compaction: bool = False
    is_compaction_request: bool = False
    is_skill_injection: bool = False
    reasoning_content: str | None = None
    framework_context: Literal["runtime", "inbox", "event", "notice"] | None = None
    delivery: Delivery | None = None
    provider_options: dict[str, Any] | None = None
    heard: Heard | None = None
    spoken: bool | None = None
    events: list[EventRecord] | None = None
    created_at: str | None = None


def new_reply_id() -> str:
    """A fresh id for an agent message."""
    return f"reply_{uuid.uuid4().hex}"


def new_turn_id() -> str:
    """A fresh id for the message that a turn begins with."""
    return f"turn_{uuid.uuid4().hex}"


def user_message(request: str | Sequence[ContentPart], turn_id: str | None = None) -> Message:
    """What a person said, as the message that a turn begins with; with a fresh id when ``turn_id`` is None."""
    turn_id = turn_id or new_turn_id()
    if isinstance(request, str):
        return Message(sender="user", text=request, id=turn_id)
    parts = content_parts(request, "The request")
    return Message(sender="user", text=parts_text(parts) or "[multimodal message]", content=parts, id=turn_id)


class TokenUsage(Shape):
    """Token counts of one or more model calls."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """The counts of both."""
        return TokenUsage(**{name: getattr(self, name) + getattr(other, name) for name in TokenUsage.model_fields})


class ModelResult(Shape):
    """What a model call returned: usually one agent message."""

    messages: list[Message] = Field(default_factory=list[Message])
    usage: TokenUsage = Field(default_factory=TokenUsage)
    stop_reason: str | None = None


class Task(Shape):
    """One entry of the agent's own task list."""

    id: str
    content: str
    activeForm: str = ""
    status: Literal["pending", "in_progress", "completed"] = "pending"


class InboxItem(Shape):
    """Something the conversation waits for, or has received, from outside."""

    id: str
    tag: str
    request: str
    response: str | None = None
    status: Literal["pending", "resolved", "consumed"] = "pending"
    blocking: bool = False
    created_at: str = ""
    resolved_at: str | None = None


PermissionStatus = Literal["granted", "denied", "unset"]
