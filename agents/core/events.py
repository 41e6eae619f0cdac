"""What a running agent tells its subscribers; ``type`` is the wire name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from agents.core.messages import Delivery, Message, TokenUsage, ToolCall, ToolResultData


@dataclass(frozen=True)
class AgentEvent:
    """Base of all subscriber events."""

    type: ClassVar[str] = "agent_event"


@dataclass(frozen=True)
class TextDelta(AgentEvent):
    """A piece of the reply's text. ``reply_id`` is the id of the agent message it belongs to."""

    type: ClassVar[str] = "text_delta"
    text: str
    reply_id: str = ""


@dataclass(frozen=True)
class ToolUse(AgentEvent):
    """The model asked for a tool."""

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: Any


@dataclass(frozen=True)
class ModelResponse(AgentEvent):
    """A whole response of a model that does not stream."""

    type: ClassVar[str] = "model_response"
    text: str
    reply_id: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str | None = None


@dataclass(frozen=True)
class ModelResponseComplete(AgentEvent):
    """The end of a streamed response; ``text`` is its whole text."""

    type: ClassVar[str] = "model_response_complete"
    text: str
    reply_id: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str | None = None


@dataclass(frozen=True)
class ToolUseResult(AgentEvent):
    """A tool finished (or was refused or aborted)."""

    type: ClassVar[str] = "tool_use_result"
    call_id: str | None
    tool_name: str
    result: ToolResultData
    duration_ms: float = 0.0

    @property
    def id(self) -> str | None:
        """Alias of ``call_id``."""
        return self.call_id

    @property
    def name(self) -> str:
        """Alias of ``tool_name``."""
        return self.tool_name


@dataclass(frozen=True)
class CompactionStart(AgentEvent):
    """History is being summarised; deltas until ``compaction_end`` are the summary and must not be spoken."""

    type: ClassVar[str] = "compaction_start"
    current_token_consumption: int


@dataclass(frozen=True)
class CompactionEnd(AgentEvent):
    """The summary is stored."""

    type: ClassVar[str] = "compaction_end"
    current_token_consumption: int
    summary_message: str
    consumption: TokenUsage = field(default_factory=TokenUsage)


@dataclass(frozen=True)
class TokenConsumption(AgentEvent):
    """Tokens used by one model call."""

    type: ClassVar[str] = "token_consumption"
    consumption: TokenUsage


@dataclass(frozen=True)
class ModelProgress(AgentEvent):
    """The model is at work on what is not said: it thinks, or writes the arguments of a tool call.

    Adapters that notice tell so at most once a second; it proves that the provider answers, and nothing else.
    """

    type: ClassVar[str] = "model_progress"
    reply_id: str = ""


@dataclass(frozen=True)
class RuntimeContext(AgentEvent):
    """Context providers were read; ``messages`` are copies, with notes in place of media."""

    type: ClassVar[str] = "runtime_context"
    messages: tuple[Message, ...]
    delivery: Delivery


@dataclass(frozen=True)
class EventReceived(AgentEvent):
    """An event from outside was taken in."""

    type: ClassVar[str] = "event_received"
    id: str
    source: str
    kind: str


@dataclass(frozen=True)
class EventInjected(AgentEvent):
    """An event was written into the conversation."""

    type: ClassVar[str] = "event_injected"
    id: str
    source: str
    kind: str


@dataclass(frozen=True)
class EventDropped(AgentEvent):
    """An event will never be told. ``reason`` is ``expired``, ``full``, ``policy`` or ``closed``."""

    type: ClassVar[str] = "event_dropped"
    id: str
    source: str
    kind: str
    reason: str


@dataclass(frozen=True)
class EventWakeFailed(AgentEvent):
    """An event was to start a turn and the turn failed. ``kept`` says whether the event still waits."""

    type: ClassVar[str] = "event_wake_failed"
    id: str
    source: str
    kind: str
    error: str
    kept: bool


@dataclass(frozen=True)
class HookInvoked(AgentEvent):
    """The user called a hook; it is about to run."""

    type: ClassVar[str] = "hook_invoked"
    name: str


@dataclass(frozen=True)
class SkillInvoked(AgentEvent):
    """A skill was called by the ``source``, and is about to run. ``args`` are what the agent gave along."""

    type: ClassVar[str] = "skill_invoked"
    name: str
    source: Literal["user", "agent"]
    args: str | None = None


@dataclass(frozen=True)
class SubagentInvoked(AgentEvent):
    """A subagent begins; all events until its ``subagent_completed`` are its own, and its text must not be spoken."""

    type: ClassVar[str] = "subagent_invoked"
    name: str
    prompt: str


@dataclass(frozen=True)
class SubagentCompleted(AgentEvent):
    """A subagent is done; ``message`` says what went wrong. Always follows, also when it was aborted."""

    type: ClassVar[str] = "subagent_completed"
    name: str
    status: Literal["success", "error"]
    message: str | None = None


class Subscriber(Protocol):
    """Receives agent events, awaited in order. A failing subscriber is logged and never stops the agent."""

    async def record(self, event: AgentEvent) -> None:
        """Take note of one event."""
        ...
