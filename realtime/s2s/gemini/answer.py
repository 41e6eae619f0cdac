"""The model's turn: idle, expected, speaking, or cancelled while its last pieces still come."""

from __future__ import annotations

from enum import Enum

from agents.base import clock

FENCE_S = 3.0
"""Longest time for which pieces are taken for those of a cancelled answer. The provider says when it has stopped; if it
forgets to, the user hears the next answer nevertheless."""


class TurnState(Enum):
    """Of the model's turn."""

    IDLE = "idle"
    EXPECTED = "expected"
    ACTIVE = "active"
    CANCELLED = "cancelled"


_MOVES = {
    TurnState.IDLE: {TurnState.EXPECTED, TurnState.ACTIVE},
    TurnState.EXPECTED: {TurnState.EXPECTED, TurnState.ACTIVE, TurnState.CANCELLED, TurnState.IDLE},
    TurnState.ACTIVE: {TurnState.ACTIVE, TurnState.IDLE, TurnState.CANCELLED},
    TurnState.CANCELLED: {TurnState.IDLE, TurnState.EXPECTED, TurnState.ACTIVE},
}


class ModelTurnState:
    """Follows the turn, and tells which pieces are stale.

    Attributes:
        state: of the turn.
        number: of the turn, counted from 1; names its speech.
    """

    def __init__(self) -> None:
        self.state = TurnState.IDLE
        self.number = 0
        self._fence_until = 0.0
        self._was_speaking = False
        self._next_expected = False

    @property
    def item_id(self) -> str:
        """The name of the turn's speech."""
        return f"turn-{self.number}"

    @property
    def is_idle(self) -> bool:
        """Whether a message would interrupt nothing that is wanted."""
        return self.state in (TurnState.IDLE, TurnState.CANCELLED)

    def expect(self) -> None:
        """The model was asked to speak."""
        if self.state is TurnState.CANCELLED and self._was_speaking and clock.now() < self._fence_until:
            # The end of the cancelled answer comes first.
            self._next_expected = True
        elif self.state is not TurnState.ACTIVE:
            self._move(TurnState.EXPECTED)

    def piece(self) -> bool:
        """A piece of an answer came. Returns whether it is to be used; the first one begins the turn."""
        if self.state is TurnState.CANCELLED and clock.now() < self._fence_until:
            return False
        if self.state is not TurnState.ACTIVE:
            self.number += 1
        self._next_expected = False
        self._move(TurnState.ACTIVE)
        return True

    def cancel(self) -> bool:
        """The answer is not wanted. Returns whether the provider has to be told."""
        self._next_expected = False
        if self.state not in (TurnState.ACTIVE, TurnState.EXPECTED):
            return False
        self._was_speaking = self.state is TurnState.ACTIVE
        self._move(TurnState.CANCELLED)
        self._fence_until = clock.now() + FENCE_S
        return True

    def end(self) -> TurnState:
        """The provider has ended the turn. Returns the state until now."""
        before = self.state
        if before is not TurnState.IDLE:
            self._move(TurnState.EXPECTED if self._next_expected else TurnState.IDLE)
        self._next_expected = False
        return before

    def _move(self, state: TurnState) -> None:
        assert state in _MOVES[self.state], f"{self.state} to {state}"
        self.state = state
