"""The agent's words for reading along, while they are still being thought of."""

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
    TextDelta,
)


class Captions:
    """A subscriber of the agent that passes on the words of a reply.

    Args:
        wanted: whether the words belong to this room (the agent may be speaking in another one).
        on_text: called with each piece, in order.
    """

    def __init__(self, wanted: Callable[[], bool], on_text: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._on_text = on_text
        self._aside = 0
        self._reply = ""
        self._dead = ""

    def cut(self) -> None:
        """The reply in progress is over; what its model still sends is of no interest."""
        self._dead, self._reply = self._reply or self._dead, ""

    async def record(self, event: AgentEvent) -> None:
        """See ``agents.core.events.Subscriber``."""
        match event:
            case CompactionStart() | SubagentInvoked():
                self._aside += 1
            case CompactionEnd() | SubagentCompleted():
                self._aside = max(0, self._aside - 1)
            case TextDelta() if not self._aside:
                self._pass(event.reply_id, event.text)
            case ModelResponse() if not self._aside:
                self._pass(event.reply_id, f"{event.text} ")
            case ModelResponseComplete() if not self._aside:
                streamed = self._reply == event.reply_id
                self._pass(event.reply_id, " " if streamed else f"{event.text} ")
            case _:
                pass

    def _pass(self, reply_id: str, text: str) -> None:
        if (reply_id and reply_id == self._dead) or not self._wanted():
            return
        self._reply = reply_id
        if text:
            self._on_text(text)
