"""The settings of a session as clients write them, and how a change is merged into them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from realtime.s2s.turn_detection import OpenAITurnDetection, ServerVad
from realtime.serving.refusal import Refusal

PCM_RATE_HZ = 24_000


class Wire(BaseModel):
    """Base of what clients send: what nobody knows is an error, so that a typing mistake is not silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PcmFormat(Wire):
    """Signed 16-bit little-endian mono."""

    type: Literal["audio/pcm"] = "audio/pcm"
    rate: Literal[24000] = PCM_RATE_HZ


class UlawFormat(Wire):
    """G.711 μ-law, 8 kHz."""

    type: Literal["audio/pcmu"]


class AlawFormat(Wire):
    """G.711 A-law, 8 kHz."""

    type: Literal["audio/pcma"]


SoundFormat = Annotated[PcmFormat | UlawFormat | AlawFormat, Field(discriminator="type")]


class Transcription(Wire):
    """That the user's words shall be told. ``language`` is a hint; the rest is for other recognisers."""

    model: str | None = None
    language: Annotated[str, Field(pattern=r"^[a-zA-Z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = None
    prompt: str | None = None


class NoiseReduction(Wire):
    """Taken, and left to the recogniser."""

    type: Literal["near_field", "far_field"]


class Hearing(Wire):
    """``audio.input``."""

    format: SoundFormat = PcmFormat()
    transcription: Transcription | None = None
    noise_reduction: NoiseReduction | None = None
    turn_detection: OpenAITurnDetection | None = ServerVad()


class VoiceId(Wire):
    """A voice by its id."""

    id: str


Voice = Annotated[str, Field(min_length=1, max_length=200)] | VoiceId


class Speaking(Wire):
    """``audio.output``. There is one voice here for each language, whatever its name is."""

    format: SoundFormat = PcmFormat()
    voice: Voice = "glove"
    speed: Annotated[float, Field(ge=1, le=1)] = 1.0


class Sound(Wire):
    """``audio``."""

    input: Hearing = Hearing()
    output: Speaking = Speaking()


class FunctionTool(Wire):
    """A tool that the client runs."""

    type: Literal["function"] = "function"
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, Field(max_length=10_000)] = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class NamedTool(Wire):
    """The one tool that may be called."""

    type: Literal["function"]
    name: str


ToolChoice = Literal["none", "auto", "required"] | NamedTool
Modalities = Annotated[tuple[Literal["text", "audio"], ...], Field(min_length=1, max_length=1)]
MaxTokens = Annotated[int, Field(ge=1, le=4096)] | Literal["inf"]


class SessionSettings(Wire):
    """A session. ``tracing``, ``truncation``, ``reasoning``, ``include`` and ``parallel_tool_calls`` change nothing."""

    type: Literal["realtime"] = "realtime"
    model: Annotated[str, Field(min_length=1, max_length=200)] = "glove"
    instructions: str = ""
    output_modalities: Modalities = ("audio",)
    audio: Sound = Sound()
    tools: tuple[FunctionTool, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_output_tokens: MaxTokens = "inf"
    include: tuple[str, ...] | None = None
    parallel_tool_calls: bool | None = None
    prompt: None = None
    reasoning: Any = None
    tracing: Any = None
    truncation: Any = "auto"

    def told(self, session_id: str, expires_at_s: int) -> dict[str, Any]:
        """What the client is told of it."""
        unset = {"include", "parallel_tool_calls", "reasoning"}
        drop = {name for name in unset if getattr(self, name) is None}
        named = {"object": "realtime.session", "id": session_id, "expires_at": expires_at_s}
        return {**self.model_dump(mode="json", exclude=drop), **named}


def changed(settings: SessionSettings, change: dict[str, Any]) -> SessionSettings:
    """``settings`` with what ``change`` names; the sections of ``audio`` are merged, everything else is replaced.

    Raises ``Refusal``.
    """
    merged = _merge(settings.model_dump(), change, deep=("audio", "input", "output"))
    return checked(SessionSettings, merged, "session")


def _merge(old: dict[str, Any], new: dict[str, Any], deep: tuple[str, ...]) -> dict[str, Any]:
    merged = dict(old)
    for name, value in new.items():
        before = old.get(name)
        if name in deep and isinstance(value, dict) and isinstance(before, dict):
            value = _merge(cast("dict[str, Any]", before), cast("dict[str, Any]", value), deep)
        merged[name] = value
    return merged


M = TypeVar("M", bound=BaseModel)

_CODES = {"extra_forbidden": "unknown_parameter", "missing": "missing_required_parameter"}


def checked(kind: type[M], value: object, place: str = "") -> M:
    """``value`` as a ``kind``. Raises ``Refusal``, which names what is wrong below ``place``."""
    try:
        return kind.model_validate(value)
    except ValidationError as fault:
        error = fault.errors(include_url=False, include_input=False)[0]
        path = [str(part) for part in error["loc"]]
        param = ".".join([place, *path] if place else path)
        code = _CODES.get(error["type"], "invalid_value")
        raise Refusal(code, f"{param or 'the message'}: {error['msg']}", param=param or None) from None
