"""What goes over the socket of a browser room.

Binary messages are sound in both directions: signed 16-bit little-endian, 16 kHz, mono, no header. Text messages are
JSON objects whose field ``t`` names them. What the caller sends is validated here; what the room sends is built in
``realtime.browser.wire``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

RATE_HZ = 16_000
"""Rate of the sound in both directions."""

MAX_MESSAGE_BYTES = 64 * 1024
"""Longest message that is accepted: two seconds of sound, or a typed line far longer than anybody types."""


class Close(IntEnum):
    """Close codes of the room, beyond those of the WebSocket protocol itself."""

    GOING_AWAY = 1001
    NOT_PCM = 1003
    NOT_JSON = 1007
    TOO_MUCH = 1008
    FAULT = 1011
    UNAVAILABLE = 1013
    REPLACED = 4000
    LEFT = 4001


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Say(_Message):
    """A typed line."""

    t: Literal["say"]
    text: Annotated[str, Field(max_length=4000)]


class Speaker(_Message):
    """Who is speaking; this room knows one speaker."""

    t: Literal["speaker"]
    speaker: Annotated[str, Field(max_length=200)] = ""


class Audio(_Message):
    """Whether the caller's speaker works: browsers keep it closed until the page is touched."""

    t: Literal["audio"]
    speaker: bool


class Playback(_Message):
    """How far the caller's speaker has come: ``position`` samples were heard since the clear numbered ``epoch``."""

    t: Literal["playback"]
    epoch: Annotated[int, Field(ge=0)]
    position: Annotated[int, Field(ge=0)]


class PlaybackDone(_Message):
    """The caller has heard the whole reply ``turnId``."""

    t: Literal["playback_done"]
    turnId: Annotated[int, Field(ge=0)]


class BargeIn(_Message):
    """The caller's own voice detector is sure that somebody speaks over the reply."""

    t: Literal["barge_in"]


class Stop(_Message):
    """The caller wants silence, whatever is being done."""

    t: Literal["stop"]


class Mute(_Message):
    """Ignore the microphone, or hear it again."""

    t: Literal["mute", "unmute"]


class Ptt(_Message):
    """The talk button."""

    t: Literal["ptt"]
    phase: Literal["down", "up", "cancel"]


class Commit(_Message):
    """What was said so far is a turn."""

    t: Literal["commit"]


class SlotAnswer(_Message):
    """An answer to a question, or the dismissal of a card."""

    t: Literal["slot_resolve"]
    id: Annotated[str, Field(max_length=100)]
    value: Any = None


class SlotRefusal(_Message):
    """The caller will not answer a question."""

    t: Literal["slot_reject"]
    id: Annotated[str, Field(max_length=100)]


class SlotTouch(_Message):
    """The caller is busy answering a question: it is given more time."""

    t: Literal["slot_touch"]
    id: Annotated[str, Field(max_length=100)]


class TimerCommand(_Message):
    """Silence a ringing timer (all of them without an id), or drop a running one."""

    t: Literal["timer_dismiss", "timer_cancel"]
    id: Annotated[str | None, Field(max_length=100)] = None


class Ping(_Message):
    """The caller wants to know whether the connection lives."""

    t: Literal["ping"]


ClientMessage = (
    Say
    | Speaker
    | Audio
    | Playback
    | PlaybackDone
    | BargeIn
    | Stop
    | Mute
    | Ptt
    | Commit
    | SlotAnswer
    | SlotRefusal
    | SlotTouch
    | TimerCommand
    | Ping
)

_ADAPTER: TypeAdapter[ClientMessage] = TypeAdapter(Annotated[ClientMessage, Field(discriminator="t")])


class BadMessage(ValueError):
    """A text message that is no message of this protocol; the reason quotes nothing of it."""


def parse(text: str) -> ClientMessage:
    """Read one text message of the caller. Raises ``BadMessage``."""
    try:
        # JSON has no NaN and no infinity: an answer that holds one could not be told to anybody, nor kept.
        return _ADAPTER.validate_python(from_json(text, allow_inf_nan=False))
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadMessage(f"{where}: {first['msg']}" if where else first["msg"]) from None
    except ValueError:
        raise BadMessage("it is no JSON, or nested too deeply") from None
