"""The messages of the OpenAI Realtime protocol in its general availability form: those sent, and what is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from audio.pcm import Pcm
from realtime.s2s.contract import HistoryItem, SessionConfig, SessionPatch, ToolSpec
from realtime.s2s.samples import encode_samples
from realtime.s2s.turn_detection import SemanticVad, ServerVad

RATE_HZ = 24_000
"""Of sound in both directions."""

Message = Mapping[str, Any]


class OpenAISettings(BaseModel):
    """Settings of a session that are not the host's.

    Attributes:
        model: of the provider.
        voice: None for the provider's choice; a voice of the session's configuration goes first.
        turn_detection: None if the host marks the turns.
        transcription_model: writes down what the user says; None for no transcripts.
        language: of the user, a hint for the transcripts (``en``, ``ja``); None if it is unknown.
        noise_reduction: of the provider, for a microphone that is near or far; None for none.
        truncation: what happens to a conversation that is longer than the model's context: ``auto``, ``disabled``, or
            the share of it to be kept, 0…1.
    """

    model: str = "gpt-realtime"
    voice: str | None = None
    turn_detection: ServerVad | SemanticVad | None = Field(default_factory=SemanticVad)
    transcription_model: str | None = "gpt-4o-mini-transcribe"
    language: str | None = None
    noise_reduction: Literal["near_field", "far_field"] | None = None
    truncation: Literal["auto", "disabled"] | float | None = None


def session_update(settings: OpenAISettings, config: SessionConfig) -> Message:
    """The first message: everything that the session starts with."""
    sound = {"type": "audio/pcm", "rate": RATE_HZ}
    turn_detection = settings.turn_detection
    hears: dict[str, Any] = {
        "format": sound,
        # An explicit null is what turns the provider's own detection off.
        "turn_detection": turn_detection.model_dump(exclude_none=True) if turn_detection else None,
    }
    if settings.transcription_model:
        hint = {"language": settings.language} if settings.language else {}
        hears["transcription"] = {"model": settings.transcription_model, **hint}
    if settings.noise_reduction:
        hears["noise_reduction"] = {"type": settings.noise_reduction}
    voice = config.voice or settings.voice
    session: dict[str, Any] = {
        "type": "realtime",
        "audio": {"input": hears, "output": {"format": sound, **({"voice": voice} if voice else {})}},
    }
    if settings.truncation is not None:
        session["truncation"] = (
            {"type": "retention_ratio", "retention_ratio": settings.truncation}
            if isinstance(settings.truncation, float)
            else settings.truncation
        )
    if config.instructions:
        session["instructions"] = config.instructions
    if config.tools:
        session["tools"] = _tools(config.tools)
    return {"type": "session.update", "session": session}


def session_patch(patch: SessionPatch) -> Message:
    """Only what changes; never the voice, which is fixed once the model has spoken."""
    session: dict[str, Any] = {"type": "realtime"}
    if patch.instructions is not None:
        session["instructions"] = patch.instructions
    if patch.tools is not None:
        session["tools"] = _tools(patch.tools)
    return {"type": "session.update", "session": session}


def append_audio(pcm: Pcm) -> Message:
    """Sound of the user."""
    return {"type": "input_audio_buffer.append", "audio": encode_samples(pcm)}


def create_item(item: HistoryItem, item_id: str | None = None) -> Message:
    """A message of the conversation."""
    kind = "output_text" if item.role == "assistant" else "input_text"
    told: dict[str, Any] = {"type": "message", "role": item.role, "content": [{"type": kind, "text": item.text}]}
    if item_id:
        told["id"] = item_id
    return {"type": "conversation.item.create", "item": told}


def tool_output(call_id: str, output: object) -> Message:
    """The result of a call. Raises ``TypeError`` if it is neither text nor can be written as JSON."""
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    item = {"type": "function_call_output", "call_id": call_id, "output": text}
    return {"type": "conversation.item.create", "item": item}


def truncate(item_id: str, heard_ms: float) -> Message:
    """What of the model's own words was heard. Rounded down at its end: more than there is would be refused."""
    told = {"type": "conversation.item.truncate", "item_id": item_id, "content_index": 0}
    return {**told, "audio_end_ms": int(heard_ms)}


def cancel(response_id: str | None) -> Message:
    """End an answer."""
    return {"type": "response.cancel", **({"response_id": response_id} if response_id else {})}


def _tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
        }
        for tool in tools
    ]


class ServerError(BaseModel):
    """``error`` of an error message and of a failed answer."""

    type: str = ""
    code: str | None = None
    message: str = ""


class ErrorTold(BaseModel):
    """``error``."""

    error: ServerError


class SessionFacts(BaseModel):
    """What is read of a session."""

    id: str = ""
    expires_at: float | None = None


class SessionTold(BaseModel):
    """``session.created`` and ``session.updated``."""

    session: SessionFacts


class ItemFacts(BaseModel):
    """What is read of an item."""

    id: str | None = None
    type: str = ""
    call_id: str | None = None
    name: str | None = None


class ItemTold(BaseModel):
    """``conversation.item.added`` and ``response.output_item.added``."""

    item: ItemFacts


class SpeechPiece(BaseModel):
    """``response.output_audio.delta`` and ``response.output_audio_transcript.delta``."""

    response_id: str = ""
    item_id: str = ""
    delta: str


class SpeechText(BaseModel):
    """``response.output_audio_transcript.done``."""

    response_id: str = ""
    item_id: str = ""
    transcript: str | None = None


class CallTold(BaseModel):
    """``response.function_call_arguments.done``."""

    response_id: str = ""
    call_id: str
    name: str | None = None
    arguments: str = "{}"


class UserPiece(BaseModel):
    """``conversation.item.input_audio_transcription.delta``."""

    item_id: str = ""
    delta: str = ""


class UserText(BaseModel):
    """``conversation.item.input_audio_transcription.completed``."""

    item_id: str = ""
    transcript: str


class UserTextFailed(BaseModel):
    """``conversation.item.input_audio_transcription.failed``."""

    item_id: str = ""
    error: ServerError


class StatusDetails(BaseModel):
    """Why an answer ended as it did."""

    reason: str | None = None
    error: ServerError | None = None


class UsageFacts(BaseModel):
    """Tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class ResponseFacts(BaseModel):
    """What is read of an answer."""

    id: str = ""
    status: Literal["completed", "cancelled", "failed", "incomplete", "in_progress"] = "completed"
    status_details: StatusDetails | None = None
    usage: UsageFacts | None = None


class ResponseTold(BaseModel):
    """``response.created`` and ``response.done``."""

    response: ResponseFacts
