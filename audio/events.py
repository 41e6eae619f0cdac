"""What a voice session tells the outside; ``type`` is the wire name, ``t`` seconds on the room's media clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from audio.metric_names import MetricName


@dataclass(frozen=True)
class VoiceEvent:
    """Base of all events of a voice session."""

    type: ClassVar[str] = "voice_event"
    t: float

    def to_json(self) -> dict[str, Any]:
        """The wire form: ``t``, ``type`` and the event's own fields."""
        fields = asdict(self)
        return {"t": round(fields.pop("t"), 4), "type": self.type, **fields}


@dataclass(frozen=True)
class ModeChanged(VoiceEvent):
    """The session is now ``idle``, ``listening``, ``thinking`` or ``speaking``."""

    type: ClassVar[str] = "mode"
    mode: str


@dataclass(frozen=True)
class UserSpeechStarted(VoiceEvent):
    """The user began to speak."""

    type: ClassVar[str] = "user_speech_started"


@dataclass(frozen=True)
class UserSpeechStopped(VoiceEvent):
    """The user fell silent (``t`` is when the silence was established, ``speech_end`` when the speech ended)."""

    type: ClassVar[str] = "user_speech_stopped"
    speech_end: float = 0.0


@dataclass(frozen=True)
class UserPartial(VoiceEvent):
    """What the user seems to be saying; for display, never committed."""

    type: ClassVar[str] = "user_partial"
    text: str


@dataclass(frozen=True)
class UserTurn(VoiceEvent):
    """A committed turn of the user."""

    type: ClassVar[str] = "user_turn"
    text: str
    language: str = "en"


@dataclass(frozen=True)
class UserTurnCorrected(VoiceEvent):
    """The recogniser has changed its mind about the last turn: ``was`` became ``text``."""

    type: ClassVar[str] = "user_turn_corrected"
    text: str
    was: str


@dataclass(frozen=True)
class UserAnswer(UserTurn):
    """Words of the user that answer a question of the display stack; the turn that asked it goes on."""

    type: ClassVar[str] = "user_answer"
    slot_id: str = ""


@dataclass(frozen=True)
class ToolUsed(VoiceEvent):
    """The agent calls a tool."""

    type: ClassVar[str] = "tool_use"
    name: str
    input: Any


@dataclass(frozen=True)
class ToolFinished(VoiceEvent):
    """A tool is done: ``success``, ``error`` or ``aborted``."""

    type: ClassVar[str] = "tool_use_result"
    tool_name: str
    status: str


@dataclass(frozen=True)
class AgentText(VoiceEvent):
    """The whole text of one response of the agent, when the model has finished it (before it is all spoken)."""

    type: ClassVar[str] = "agent_text"
    text: str


@dataclass(frozen=True)
class AgentSays(VoiceEvent):
    """Words that no model wrote are about to be spoken: an announcement, a question, an honest failure."""

    type: ClassVar[str] = "agent_says"
    text: str


@dataclass(frozen=True)
class AgentSpeechStarted(VoiceEvent):
    """The first sample of a reply was played."""

    type: ClassVar[str] = "agent_speech_started"


@dataclass(frozen=True)
class AgentSpeechStopped(VoiceEvent):
    """A reply ended, by itself or cut. ``heard``: the text whose sound was played."""

    type: ClassVar[str] = "agent_speech_stopped"
    heard: str


@dataclass(frozen=True)
class Interrupted(VoiceEvent):
    """The user took the floor. ``played_ms``: how much of the reply was played; precedes ``agent_speech_stopped``."""

    type: ClassVar[str] = "interrupted"
    heard: str
    played_ms: int


@dataclass(frozen=True)
class PlaybackPaused(VoiceEvent):
    """The reply stands still while it is decided whether the user takes the floor."""

    type: ClassVar[str] = "playback_paused"


@dataclass(frozen=True)
class PlaybackResumed(VoiceEvent):
    """The reply goes on at the sample where it stood still."""

    type: ClassVar[str] = "playback_resumed"


@dataclass(frozen=True)
class Wake(VoiceEvent):
    """The wake phrase was heard."""

    type: ClassVar[str] = "wake"
    phrase: str


@dataclass(frozen=True)
class AttentionChanged(VoiceEvent):
    """What the session listens for: ``asleep``, ``awake``, ``engaged``, ``follow_up`` or ``sounding``."""

    type: ClassVar[str] = "attention"
    state: str


@dataclass(frozen=True)
class Discarded(VoiceEvent):
    """Something was heard and deliberately not committed; ``reason`` says why, without its words."""

    type: ClassVar[str] = "discarded"
    reason: str


@dataclass(frozen=True)
class VoiceFault(VoiceEvent):
    """A fault, with the code and message of its error."""

    type: ClassVar[str] = "error"
    code: str
    message: str


@dataclass(frozen=True)
class Metric(VoiceEvent):
    """A measurement: milliseconds, and data without any words of the user."""

    type: ClassVar[str] = "metric"
    name: MetricName
    ms: float | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True)
class RoomChanged(VoiceEvent):
    """How well the room works has changed.

    ``state``: ``ok``, ``degraded`` or ``down``. ``reason``: a sentence for people, empty when ok. ``erle_db``: what
    echo cancellation takes away, once measured.
    """

    type: ClassVar[str] = "room_health"
    state: str
    reason: str = ""
    erle_db: float | None = None
