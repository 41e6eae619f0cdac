"""The messages of Gemini Live: what is sent, and what of the rest is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from audio.pcm import Pcm
from realtime.s2s.contract import HistoryItem, SessionConfig
from realtime.s2s.gemini.schema import gemini_schema
from realtime.s2s.samples import encode_samples
from realtime.s2s.turn_detection import ActivityDetection

INPUT_HZ = 16_000
OUTPUT_HZ = 24_000

Message = Mapping[str, Any]


class GeminiSettings(BaseModel):
    """Settings of a session that are not the host's.

    Attributes:
        model: of the provider, with or without ``models/``.
        voice: None for the provider's choice; a voice of the session's configuration goes first.
        activity_detection: None if the host marks the turns.
        api_version: of the interface.
        compression: whether the provider shortens a conversation that grows too long. Without it a session with sound
            ends after about a quarter of an hour.
        compression_trigger_tokens: how long is too long; None leaves it to the provider.
        history_config: whether the model wants to be told that a history comes first, as newer models do; None decides
            by the model's name.
    """

    model: str = "gemini-live-2.5-flash-preview"
    voice: str | None = None
    activity_detection: ActivityDetection | None = Field(default_factory=ActivityDetection)
    api_version: str = "v1beta"
    compression: bool = True
    compression_trigger_tokens: int | None = None
    history_config: bool | None = None

    @property
    def announces_history(self) -> bool:
        """Whether the setup says that a history comes first."""
        if self.history_config is not None:
            return self.history_config
        return re.search(r"gemini-(live-)?[12]\b", self.model.removeprefix("models/")) is None


def setup(settings: GeminiSettings, config: SessionConfig) -> Message:
    """The first message; nothing may come before it."""
    voice = config.voice or settings.voice
    generation: dict[str, Any] = {"responseModalities": ["AUDIO"]}
    if voice:
        generation["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}
    told: dict[str, Any] = {
        "model": settings.model if settings.model.startswith("models/") else f"models/{settings.model}",
        "generationConfig": generation,
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
        # An empty one asks for handles; one with a handle goes on where the last session was.
        "sessionResumption": {"handle": config.resume} if config.resume else {},
    }
    realtime = _realtime_input(settings.activity_detection)
    if realtime:
        told["realtimeInputConfig"] = realtime
    if settings.compression:
        tokens = settings.compression_trigger_tokens
        trigger = {"triggerTokens": str(tokens)} if tokens is not None else {}
        told["contextWindowCompression"] = {"slidingWindow": {}, **trigger}
    if config.history and not config.resume and settings.announces_history:
        told["historyConfig"] = {"initialHistoryInClientContent": True}
    if config.instructions:
        told["systemInstruction"] = {"parts": [{"text": config.instructions}]}
    if config.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parameters": gemini_schema(tool.parameters or None)}
            for tool in config.tools
        ]
        told["tools"] = [{"functionDeclarations": declared}]
    return {"setup": told}


def _realtime_input(detection: ActivityDetection | None) -> dict[str, Any]:
    if detection is None:
        return {"automaticActivityDetection": {"disabled": True}}
    chosen = {
        "startOfSpeechSensitivity": detection.start_sensitivity
        and f"START_SENSITIVITY_{detection.start_sensitivity.upper()}",
        "endOfSpeechSensitivity": detection.end_sensitivity and f"END_SENSITIVITY_{detection.end_sensitivity.upper()}",
        "prefixPaddingMs": detection.prefix_padding_ms,
        "silenceDurationMs": detection.silence_duration_ms,
    }
    automatic = {name: value for name, value in chosen.items() if value is not None}
    told: dict[str, Any] = {"automaticActivityDetection": automatic} if automatic else {}
    if not detection.interrupts:
        told["activityHandling"] = "NO_INTERRUPTION"
    if detection.turn_includes_all_input is not None:
        told["turnCoverage"] = (
            "TURN_INCLUDES_ALL_INPUT" if detection.turn_includes_all_input else "TURN_INCLUDES_ONLY_ACTIVITY"
        )
    return told


def audio(pcm: Pcm) -> Message:
    """Sound of the user."""
    return {"realtimeInput": {"audio": {"mimeType": f"audio/pcm;rate={INPUT_HZ}", "data": encode_samples(pcm)}}}


def content(items: Iterable[HistoryItem], *, respond: bool) -> Message:
    """Messages of the conversation; with ``respond`` the model answers. Ends an answer that is under way."""
    return {"clientContent": {"turns": [_turn(item) for item in items], "turnComplete": respond}}


def _turn(item: HistoryItem) -> dict[str, Any]:
    # There are users and models only: what the system says is marked as such.
    text = f"[system] {item.text}" if item.role == "system" else item.text
    return {"role": "model" if item.role == "assistant" else "user", "parts": [{"text": text}]}


def activity_start() -> Message:
    """The user begins to speak."""
    return {"realtimeInput": {"activityStart": {}}}


def activity_end() -> Message:
    """The user has spoken."""
    return {"realtimeInput": {"activityEnd": {}}}


def tool_response(call_id: str | None, name: str, output: object, *, respond: bool) -> Message:
    """The result of a call. ``call_id`` is None where the provider gave none."""
    told: dict[str, Any] = {"name": name, "response": {"output": output}}
    if call_id is not None:
        told["id"] = call_id
    if not respond:
        told["scheduling"] = "SILENT"
    return {"toolResponse": {"functionResponses": [told]}}


class _Told(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Blob(_Told):
    """Data of a part."""

    mime_type: str = ""
    data: str = ""


class Part(_Told):
    """A part of what the model says."""

    inline_data: Blob | None = None


class ModelTurn(_Told):
    """What the model says."""

    parts: list[Part] = Field(default_factory=list[Part])


class Transcription(_Told):
    """Words; ``finished`` says that no more come."""

    text: str = ""
    finished: bool = False


class ServerContent(_Told):
    """``serverContent``."""

    model_turn: ModelTurn | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    interrupted: bool = False
    generation_complete: bool = False
    turn_complete: bool = False


class FunctionCall(_Told):
    """One call of a tool."""

    id: str | None = None
    name: str
    args: dict[str, Any] | None = None


class CallsTold(_Told):
    """``toolCall``."""

    function_calls: list[FunctionCall] = Field(default_factory=list[FunctionCall])


class CancellationTold(_Told):
    """``toolCallCancellation``."""

    ids: list[str] = Field(default_factory=list[str])


class GoAway(_Told):
    """``goAway``; ``time_left`` is a duration such as ``9.5s``."""

    time_left: str = ""

    @property
    def seconds(self) -> float:
        """The time left in seconds; 0 where it is not said."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)s\s*", self.time_left)
        return float(found[1]) if found else 0.0


class ResumptionTold(_Told):
    """``sessionResumptionUpdate``."""

    new_handle: str = ""
    resumable: bool = False


class VoiceActivity(_Told):
    """``voiceActivity``."""

    voice_activity_type: str = ""


class Usage(_Told):
    """``usageMetadata``."""

    prompt_token_count: int | None = None
    response_token_count: int | None = None


class SetupComplete(_Told):
    """``setupComplete``."""

    session_id: str = ""


class ServerMessage(_Told):
    """Any message of the provider; one may hold several things."""

    setup_complete: SetupComplete | None = None
    server_content: ServerContent | None = None
    tool_call: CallsTold | None = None
    tool_call_cancellation: CancellationTold | None = None
    go_away: GoAway | None = None
    session_resumption_update: ResumptionTold | None = None
    voice_activity: VoiceActivity | None = None
    usage_metadata: Usage | None = None
