"""What clients ask for."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from realtime.serving.new_items import NewItem
from realtime.serving.refusal import Refusal
from realtime.serving.settings import (
    FunctionTool,
    MaxTokens,
    Modalities,
    SoundFormat,
    ToolChoice,
    Voice,
    Wire,
    checked,
)

ItemId = Annotated[str, Field(min_length=1, max_length=64)]


class Command(Wire):
    """A message of a client; an answer that complains names its ``event_id``."""

    event_id: Annotated[str, Field(max_length=512)] | None = None


class UpdateSession(Command):
    """Change the settings."""

    type: Literal["session.update"]
    session: dict[str, Any]


class AppendAudio(Command):
    """More sound of the user."""

    type: Literal["input_audio_buffer.append"]
    audio: str


class CommitAudio(Command):
    """What was appended is a turn."""

    type: Literal["input_audio_buffer.commit"]


class ClearAudio(Command):
    """What was appended is nothing."""

    type: Literal["input_audio_buffer.clear"]


class CreateItem(Command):
    """Put an item into the conversation: after another, first (``root``), or last."""

    type: Literal["conversation.item.create"]
    item: NewItem
    previous_item_id: ItemId | None = None


class RetrieveItem(Command):
    """Tell an item."""

    type: Literal["conversation.item.retrieve"]
    item_id: ItemId


class DeleteItem(Command):
    """Take an item out."""

    type: Literal["conversation.item.delete"]
    item_id: ItemId


class TruncateItem(Command):
    """Only so much of what was said has been heard."""

    type: Literal["conversation.item.truncate"]
    item_id: ItemId
    content_index: Annotated[int, Field(ge=0)]
    audio_end_ms: Annotated[int, Field(ge=0)]


class OutputWishes(Wire):
    """``audio.output`` of one answer."""

    format: SoundFormat | None = None
    voice: Voice | None = None


class SoundWishes(Wire):
    """``audio`` of one answer."""

    output: OutputWishes | None = None


class ItemReference(Wire):
    """An item of the conversation, by its id."""

    type: Literal["item_reference"]
    id: ItemId


InputItem = Annotated[NewItem | ItemReference, Field(discriminator="type")]


class ResponseWishes(Wire):
    """One answer; what is None is as the session has it."""

    instructions: str | None = None
    output_modalities: Modalities | None = None
    audio: SoundWishes | None = None
    tools: tuple[FunctionTool, ...] | None = None
    tool_choice: ToolChoice | None = None
    max_output_tokens: MaxTokens | None = None
    conversation: Literal["auto", "none"] = "auto"
    metadata: dict[str, Annotated[str, Field(max_length=512)]] | None = Field(default=None, max_length=16)
    input: Annotated[tuple[InputItem, ...], Field(max_length=200)] | None = None
    parallel_tool_calls: bool | None = None
    prompt: None = None
    reasoning: Any = None


class CreateResponse(Command):
    """Answer now."""

    type: Literal["response.create"]
    response: ResponseWishes | None = None


class CancelResponse(Command):
    """Stop the answer."""

    type: Literal["response.cancel"]
    response_id: str | None = None


KINDS: tuple[type[Command], ...] = (
    UpdateSession,
    AppendAudio,
    CommitAudio,
    ClearAudio,
    CreateItem,
    RetrieveItem,
    DeleteItem,
    TruncateItem,
    CreateResponse,
    CancelResponse,
)
_BY_TYPE = {str(kind.model_fields["type"].annotation.__args__[0]): kind for kind in KINDS}  # type: ignore[union-attr]


def message_of(text: str) -> dict[str, Any]:
    """The JSON object in ``text``. Raises ``Refusal``."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal("invalid_json", "The message is no JSON.") from None
    if not isinstance(message, dict):
        raise Refusal("invalid_json", "The message is no JSON object.")
    return cast("dict[str, Any]", message)


def command_of(message: dict[str, Any]) -> Command:
    """What ``message`` asks for. Raises ``Refusal``."""
    kind = message.get("type")
    if not isinstance(kind, str):
        raise Refusal("missing_required_parameter", "The message has no type.", param="type")
    known = _BY_TYPE.get(kind)
    if known is None:
        raise Refusal("invalid_value", f"There is no message of type {kind[:80]!r} for this server.", param="type")
    return checked(known, message)
