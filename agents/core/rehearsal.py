"""A model call that is made before its request has come, for the case that it comes just so.

While a user seems to have finished, the model may be asked already. Nothing of the answer is told, stored or acted on
before the request is really made, and then only if the very same call would have been made.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from agents.base.abort import Aborted, AbortToken
from agents.core.events import AgentEvent
from agents.core.messages import Message, ModelResult
from agents.core.model import ModelAdapter, Notify, PromptRequest

EVENTS_HELD = 1000
"""So many events of a call wait for its request; then the model has to."""

_NOT_SENT = frozenset({"id", "created_at", "heard", "spoken"})
"""Fields of a message that no model sees."""


class Rehearsal:
    """One call ahead of its request.

    Args:
        model: who is asked.
        request: the call, as it would be made.
        abort: gives it up; a turn that has taken it over aborts it, too.

    Attributes:
        taken: whether a turn has taken it over.
    """

    def __init__(self, model: ModelAdapter, request: PromptRequest, abort: AbortToken) -> None:
        self.taken = False
        self._model = model
        self._request = request
        self._abort = abort
        self._events: deque[AgentEvent] = deque()
        self._moved = asyncio.Event()
        self._decided = asyncio.Event()
        abort.on_abort(self._decided.set)
        self._outcome: ModelResult | BaseException | None = None

    async def play(self) -> None:
        """Make the call. Returns when it is over and it is known whether a turn takes it, or when it has failed.

        A fault is that of the turn that takes it over, or nobody's.
        """
        try:
            self._outcome = await self._abort.race(self._model.prompt(self._request, self._hold, self._abort))
        except Exception as fault:  # noqa: BLE001 - kept for whoever takes the call over
            self._outcome = fault
        except asyncio.CancelledError:
            self._outcome = Aborted("cancelled")
            raise
        finally:
            self._moved.set()
        if not isinstance(self._outcome, BaseException):
            await self._decided.wait()

    async def _hold(self, event: AgentEvent) -> None:
        self._events.append(event)
        self._moved.set()
        while len(self._events) >= EVENTS_HELD:
            self._moved.clear()
            await self._moved.wait()

    def fits(self, model: ModelAdapter, request: PromptRequest) -> bool:
        """Whether ``request`` is the same call, and it has not failed."""
        if self._abort.aborted or isinstance(self._outcome, BaseException):
            return False
        mine = self._request
        return (
            model is self._model
            and request.system_prompt == mine.system_prompt
            and request.language == mine.language
            and tuple(request.tools) == tuple(mine.tools)
            and len(request.messages) == len(mine.messages)
            and all(_same(one, other) for one, other in zip(request.messages, mine.messages, strict=True))
        )

    async def take(self, notify: Notify, abort: AbortToken) -> ModelResult:
        """Tell what the call has brought so far and then what it brings, and return its result. Raises as the model."""
        self.taken = True
        self._decided.set()
        unlink = abort.on_abort(lambda: self.drop(abort.reason or "aborted"))
        try:
            while True:
                while self._events:
                    event = self._events.popleft()
                    self._moved.set()
                    await notify(event)
                if isinstance(self._outcome, BaseException):
                    raise self._outcome
                if self._outcome is not None:
                    return self._outcome
                self._moved.clear()
                await self._moved.wait()
        finally:
            unlink()

    def drop(self, reason: str = "not what was asked") -> None:
        """Give the call up; idempotent."""
        self._abort.abort(reason)


def _same(one: Message, other: Message) -> bool:
    """Whether a model sees no difference."""
    return _sent(one.__dict__) == _sent(other.__dict__) and one.model_extra == other.model_extra


def _sent(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _NOT_SENT}
