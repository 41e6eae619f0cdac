"""What a speech-to-speech adapter tells its host. Listeners subscribe to a class; ``type`` is the event's wire name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

from agents.base.errors import GloveError
from audio.pcm import Pcm

ResponseStatus = Literal["completed", "cancelled", "failed", "incomplete"]


@dataclass(frozen=True)
class S2SEvent:
    """Base of the events of adapters."""

    type: ClassVar[str] = "s2s_event"


E = TypeVar("E", bound=S2SEvent)


@dataclass(frozen=True)
class Connected(S2SEvent):
    """The provider has taken the session's settings; sound is heard from now on.

    Attributes:
        session_id: the provider's name of the session, or empty.
        expires_in_s: seconds until the provider ends it whatever happens, or None if it does not say.
        resumed: whether the provider still knows the conversation of the handle that was given.
    """

    type: ClassVar[str] = "connected"
    session_id: str = ""
    expires_in_s: float | None = None
    resumed: bool = False


@dataclass(frozen=True)
class Disconnected(S2SEvent):
    """The connection is over: exactly one for each ``Connected``.

    Attributes:
        code: of the WebSocket's close frame; 1006 where there was none.
        reason: the provider's words, without secrets.
        fault: None after ``disconnect()``; else what happened. ``ERR_S2S_DISCONNECTED`` is worth another connection
            at once, ``ERR_S2S_AUTH`` and ``ERR_S2S_REQUEST`` are not before somebody changes something.
    """

    type: ClassVar[str] = "disconnected"
    code: int = 1000
    reason: str = ""
    fault: GloveError | None = None


@dataclass(frozen=True)
class SessionExpiring(S2SEvent):
    """The provider has announced that it ends the connection in ``time_left_s`` seconds."""

    type: ClassVar[str] = "session_expiring"
    time_left_s: float


@dataclass(frozen=True)
class AgentAudio(S2SEvent):
    """Speech of the agent, faster than it plays.

    Attributes:
        pcm: mono samples at ``rate_hz``, shape (n,).
        rate_hz: samples per second.
        item_id: the stretch of speech that it belongs to; what ``HeardMs`` is asked about.
    """

    type: ClassVar[str] = "audio"
    pcm: Pcm = field(repr=False)
    rate_hz: int
    item_id: str = ""


@dataclass(frozen=True)
class UserSpeechStarted(S2SEvent):
    """The provider hears the user. Providers without ``Capabilities.reports_user_speech`` never say so."""

    type: ClassVar[str] = "user_speech_started"


@dataclass(frozen=True)
class UserSpeechStopped(S2SEvent):
    """The provider hears that the user is silent."""

    type: ClassVar[str] = "user_speech_stopped"


@dataclass(frozen=True)
class UserTranscript(S2SEvent):
    """What the user said: pieces while they come (``final`` False), then the whole once. It may come after the answer.

    Attributes:
        text: the new piece, or the whole utterance.
        final: whether this is the whole.
        item_id: the provider's name of the utterance, or empty.
    """

    type: ClassVar[str] = "user_transcript"
    text: str
    final: bool
    item_id: str = ""


@dataclass(frozen=True)
class AgentTranscriptDelta(S2SEvent):
    """More of the words that the agent is speaking."""

    type: ClassVar[str] = "agent_transcript_delta"
    text: str
    item_id: str = ""


@dataclass(frozen=True)
class AgentTranscriptDone(S2SEvent):
    """All words of one stretch of speech. None comes for a stretch that was interrupted."""

    type: ClassVar[str] = "agent_transcript_done"
    text: str
    item_id: str = ""


@dataclass(frozen=True)
class AgentSpeechStarted(S2SEvent):
    """The provider began to send speech."""

    type: ClassVar[str] = "agent_speech_started"


@dataclass(frozen=True)
class AgentSpeechStopped(S2SEvent):
    """The provider has sent all speech of a response; the host may be playing it for a long time yet."""

    type: ClassVar[str] = "agent_speech_stopped"


@dataclass(frozen=True)
class ResponseStarted(S2SEvent):
    """The model has begun to answer: a session is not idle until ``ResponseDone``."""

    type: ClassVar[str] = "response_started"
    response_id: str = ""


@dataclass(frozen=True)
class ResponseDone(S2SEvent):
    """The model has ended an answer; the counts of tokens are None where the provider does not say."""

    type: ClassVar[str] = "response_done"
    response_id: str = ""
    status: ResponseStatus = "completed"
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class ToolCall(S2SEvent):
    """The model calls a tool, and is silent until it gets ``send_tool_result`` with this ``call_id``.

    Attributes:
        call_id: unique within the session.
        name: of the tool.
        arguments: JSON text as the model wrote it, possibly broken; empty means no arguments.
    """

    type: ClassVar[str] = "tool_call"
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolCallsCancelled(S2SEvent):
    """The provider no longer wants the results of these calls; results that come nevertheless are dropped."""

    type: ClassVar[str] = "tool_calls_cancelled"
    call_ids: tuple[str, ...]


@dataclass(frozen=True)
class HeardSpeech:
    """How much of one stretch of speech was played: ``heard_ms`` of ``sent_ms`` milliseconds."""

    item_id: str
    heard_ms: float
    sent_ms: float


@dataclass(frozen=True)
class Interrupted(S2SEvent):
    """Everything that is queued for playing must go. Emitted before ``AgentSpeechStopped``, also when nothing played.

    Attributes:
        unheard: the stretches of speech that were not played to their end, oldest first. Where the provider truncates
            (``Capabilities.truncates``) it has been told so.
    """

    type: ClassVar[str] = "interrupted"
    unheard: tuple[HeardSpeech, ...] = ()


@dataclass(frozen=True)
class S2SFault(S2SEvent):
    """The provider complains, and the session goes on."""

    type: ClassVar[str] = "error"
    error: GloveError
