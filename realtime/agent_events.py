"""What a realtime agent tells, beside the events of its sessions (``realtime.s2s.events``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.base.errors import GloveError
from agents.core.messages import ToolResultData


@dataclass(frozen=True)
class RealtimeEvent:
    """Base of the events of a realtime agent."""

    type: ClassVar[str] = "realtime_event"


@dataclass(frozen=True)
class UserSaid(RealtimeEvent):
    """What the user said, whole and not empty."""

    type: ClassVar[str] = "user_said"
    text: str


@dataclass(frozen=True)
class AgentSaid(RealtimeEvent):
    """All words of one stretch of the agent's speech, not empty; it may still be playing."""

    type: ClassVar[str] = "agent_said"
    text: str


@dataclass(frozen=True)
class AgentHeard(RealtimeEvent):
    """A stretch of speech is over: ``text`` of it was heard."""

    type: ClassVar[str] = "agent_heard"
    text: str
    complete: bool


@dataclass(frozen=True)
class AgentDelta(RealtimeEvent):
    """More of the words that the agent is speaking."""

    type: ClassVar[str] = "agent_delta"
    text: str


@dataclass(frozen=True)
class ToolStarted(RealtimeEvent):
    """A tool is being run for the model."""

    type: ClassVar[str] = "tool_started"
    name: str
    input: Any


@dataclass(frozen=True)
class ToolFinished(RealtimeEvent):
    """A tool is done; ``result`` is all of it, what is for screens included."""

    type: ClassVar[str] = "tool_finished"
    name: str
    result: ToolResultData


@dataclass(frozen=True)
class AgentFault(RealtimeEvent):
    """Something went wrong, and the conversation goes on."""

    type: ClassVar[str] = "error"
    error: GloveError
