"""One answer at a time: the provider refuses a second one while the first is under way, so the next is queued."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum

from realtime.s2s.openai import messages
from realtime.s2s.openai.messages import Message

_REMEMBERED = 32
"""Cancelled answers of which pieces may still come."""


class ResponseState(Enum):
    """Of the answer that is under way."""

    IDLE = "idle"
    REQUESTED = "requested"
    ACTIVE = "active"
    CANCELLING = "cancelling"


_MOVES = {
    ResponseState.IDLE: {ResponseState.REQUESTED, ResponseState.ACTIVE},
    ResponseState.REQUESTED: {ResponseState.ACTIVE, ResponseState.CANCELLING, ResponseState.IDLE},
    ResponseState.ACTIVE: {ResponseState.IDLE, ResponseState.CANCELLING, ResponseState.ACTIVE},
    ResponseState.CANCELLING: {ResponseState.IDLE, ResponseState.ACTIVE, ResponseState.CANCELLING},
}


class Responses:
    """Asks for answers and cancels them.

    Args:
        send: sends a message to the provider.
    """

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self.state = ResponseState.IDLE
        self.current = ""
        """Id of the answer, empty until the provider has named it."""
        self._queued = False
        self._held = False
        self._expected = False
        self._unwanted = False
        self._cancelled: deque[str] = deque(maxlen=_REMEMBERED)

    def request(self) -> None:
        """An answer is wanted: now, or after the one that is under way."""
        self._queued = True
        self._unwanted = False
        self._advance()

    def expect(self) -> None:
        """The provider will begin an answer by itself."""
        self._expected = True

    def hold(self) -> None:
        """Ask for nothing: the user is speaking."""
        self._held = True
        self._expected = self._unwanted = False

    def release(self) -> None:
        """The user is silent, and the provider does not answer by itself."""
        self._held = False
        self._advance()

    def created(self, response_id: str) -> None:
        """The provider has begun an answer, asked for or by itself. It knows everything that was sent before."""
        if self.state is ResponseState.CANCELLING and not self.current:
            # The one that was cancelled before it had a name.
            self.current = response_id
            self._cancelled.append(response_id)
            return
        if self.state is not ResponseState.REQUESTED:
            self._queued = False
        self._held = self._expected = False
        self.current = response_id
        self._move(ResponseState.ACTIVE)
        if self._unwanted:
            self._unwanted = False
            self.cancel(provider_does=False)

    def done(self, response_id: str) -> None:
        """An answer has ended."""
        if self.state is ResponseState.IDLE or (self.current and response_id and response_id != self.current):
            return
        self._rest()

    def cancel(self, *, provider_does: bool) -> None:
        """End the answer that is under way, and forget the next. One that is only expected ends when it begins.

        Args:
            provider_does: whether the provider cancels it of itself.
        """
        self._queued = False
        if self.state not in (ResponseState.REQUESTED, ResponseState.ACTIVE):
            self._unwanted = self._expected and not provider_does
            return
        if self.current and self.state is ResponseState.ACTIVE:
            self._cancelled.append(self.current)
        else:
            self.current = ""
        if not provider_does or self.state is ResponseState.REQUESTED:
            self._send(messages.cancel(self.current or None))
        self._move(ResponseState.CANCELLING)

    def nothing_to_cancel(self) -> None:
        """The provider says that no answer is under way."""
        if self.state is ResponseState.CANCELLING:
            self._rest()

    def refused(self) -> None:
        """The provider says that an answer is under way: the one asked for follows it."""
        if self.state is ResponseState.REQUESTED:
            self.current = ""
            self._queued = True
            self._move(ResponseState.ACTIVE)

    def is_stale(self, response_id: str) -> bool:
        """Whether a piece of this answer comes after it was cancelled."""
        if response_id in self._cancelled:
            return True
        return self.state is ResponseState.CANCELLING and not self.current

    def _rest(self) -> None:
        self.current = ""
        self._move(ResponseState.IDLE)
        self._advance()

    def _advance(self) -> None:
        if self._queued and not self._held and self.state is ResponseState.IDLE:
            self._queued = False
            self._move(ResponseState.REQUESTED)
            self._send({"type": "response.create"})

    def _move(self, state: ResponseState) -> None:
        assert state in _MOVES[self.state], f"{self.state} to {state}"
        self.state = state
