"""What a request brings along, and where it stands in every one of the request's model calls.

    system prompt            stable
    saved history            since the last summary, with saved context
    frozen context           the same in all calls of the request
    the request's message
    calls and results        of this request so far, and events that joined it
    reminder, fresh context  made for this call alone

All but the last line only ever grows, so that a provider's cache of prompts can use it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.core.messages import Message


@dataclass(frozen=True)
class Opening:
    """What a request brings along.

    Attributes:
        message: the request's message as it was stored; of an event's turn, the message about the events.
        frozen: context that stands right before it.
        reminder: what is repeated at the end.
    """

    message: Message
    frozen: Sequence[Message] = field(default=())
    reminder: Sequence[Message] = field(default=())

    def arrange(self, history: Sequence[Message], fresh: Sequence[Message]) -> list[Message]:
        """The messages of one model call: ``history`` as it is stored, and everything that is not."""
        if not self.frozen:
            return [*history, *self.reminder, *fresh]
        place = self._place(history)
        return [*history[:place], *self.frozen, *history[place:], *self.reminder, *fresh]

    def _place(self, history: Sequence[Message]) -> int:
        """Where the request's message stands; right after the summary if it has been summarised away."""
        # A store may keep no ids; then the text decides.
        for is_message in (self._has_its_id, self._has_its_text):
            for index in range(len(history) - 1, -1, -1):
                if is_message(history[index]):
                    return index
        return 1 if history and history[0].is_compaction else 0

    def _has_its_id(self, stored: Message) -> bool:
        return stored.id is not None and stored.id == self.message.id

    def _has_its_text(self, stored: Message) -> bool:
        return stored.sender == "user" and stored.text == self.message.text and not stored.tool_results
