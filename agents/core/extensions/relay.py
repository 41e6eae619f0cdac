"""Carries what a subagent does to the subscribers of its parent, for as long as the parent waits for it."""

from __future__ import annotations

from agents.core.events import AgentEvent, CompactionEnd, CompactionStart, SubagentCompleted, SubagentInvoked
from agents.core.model import Notify

CUT_OFF = "The subagent around it ended first."


class Relay:
    """Subscriber of a subagent. Nothing gets past it once it is closed, and nothing it let begin is left open.

    Args:
        notify: tells the subscribers of the parent, whoever they are at that moment.
    """

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._endings: list[CompactionEnd | SubagentCompleted] = []
        self._closed = False

    async def record(self, event: AgentEvent) -> None:
        """Pass one event on."""
        if self._closed:
            return
        match event:
            case CompactionStart():
                self._endings.append(CompactionEnd(event.current_token_consumption, ""))
            case SubagentInvoked():
                self._endings.append(SubagentCompleted(event.name, "error", CUT_OFF))
            case CompactionEnd() | SubagentCompleted():
                self._ended(event)
            case _:
                pass
        await self._notify(event)

    async def close(self) -> None:
        """Pass nothing on any more, and end what is open; idempotent."""
        if self._closed:
            return
        self._closed = True
        for ending in reversed(self._endings):
            await self._notify(ending)

    def _ended(self, event: CompactionEnd | SubagentCompleted) -> None:
        for index in range(len(self._endings) - 1, -1, -1):
            if type(self._endings[index]) is type(event):
                del self._endings[index]
                return
