"""Which tool calls wait for their results, and when the model may go on."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class _Round:
    called: set[str] = field(default_factory=set[str])
    open: set[str] = field(default_factory=set[str])
    ended: bool = False
    wants_answer: bool = False

    @property
    def is_ready(self) -> bool:
        return self.ended and not self.open


class ToolRounds:
    """The calls of each response belong together: the model goes on once, when all of them are answered."""

    def __init__(self) -> None:
        self._rounds: dict[str, _Round] = {}
        self._response_of: dict[str, str] = {}

    def called(self, response_id: str, call_id: str) -> bool:
        """A response has called a tool. Returns False for a call that was told before: it is not run twice."""
        calls = self._rounds.setdefault(response_id, _Round())
        if call_id in calls.called or call_id in self._response_of:
            return False
        calls.called.add(call_id)
        calls.open.add(call_id)
        self._response_of[call_id] = response_id
        return True

    def is_open(self, call_id: str) -> bool:
        """Whether the call waits for its result."""
        return call_id in self._response_of

    def answered(self, call_id: str, *, respond: bool) -> bool:
        """A call has its result. Returns whether the model is to go on now."""
        response_id = self._response_of.pop(call_id)
        rounds = self._rounds[response_id]
        rounds.open.discard(call_id)
        rounds.wants_answer = rounds.wants_answer or respond
        return self._settle(response_id)

    def ended(self, response_id: str) -> bool:
        """A response has ended: no more calls come. Returns whether the model is to go on now."""
        if response_id not in self._rounds:
            return False
        self._rounds[response_id].ended = True
        return self._settle(response_id)

    def _settle(self, response_id: str) -> bool:
        if not self._rounds[response_id].is_ready:
            return False
        return self._rounds.pop(response_id).wants_answer
