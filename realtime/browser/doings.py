"""What the agent does besides speaking, for reading along: tools, summaries, subagents, tokens."""

from __future__ import annotations

from collections.abc import Callable

from agents.core.events import (
    AgentEvent,
    CompactionEnd,
    CompactionStart,
    ModelResponse,
    ModelResponseComplete,
    SubagentCompleted,
    SubagentInvoked,
    TokenConsumption,
    ToolUse,
    ToolUseResult,
)
from agents.web.wire import Event, agent_event, jsonable
from realtime.browser.wire import bounded

SHOWN = (CompactionEnd, CompactionStart, SubagentCompleted, SubagentInvoked, TokenConsumption, ToolUse, ToolUseResult)


class Doings:
    """A subscriber of the agent that passes on its events. Words are left out: the captions have them.

    Args:
        wanted: whether the events belong to this room (the agent may be speaking in another one).
        on_event: called with each event as JSON.
    """

    def __init__(self, wanted: Callable[[], bool], on_event: Callable[[Event], None]) -> None:
        self._wanted = wanted
        self._on_event = on_event

    async def record(self, event: AgentEvent) -> None:
        """See ``agents.core.events.Subscriber``."""
        if not self._wanted():
            return
        if isinstance(event, ModelResponse | ModelResponseComplete):
            self._on_event({"type": event.type, "reply_id": event.reply_id})
        elif isinstance(event, CompactionEnd):
            self._on_event({"type": event.type})
        elif isinstance(event, SHOWN):
            self._on_event(_brief(jsonable(agent_event(event))))


def _brief(told: Event) -> Event:
    """Long inputs and results are for the model; who reads along is told that there is more."""
    result = told.get("result")
    if result is not None:
        kept = ("status", "message", "data", "renderData")
        told["result"] = {name: bounded(result[name]) for name in kept if name in result}
    if "input" in told:
        told["input"] = bounded(told["input"])
    return told
