"""What was said last in a session, for whoever judges what is said next."""

from __future__ import annotations

from collections import deque

from agents.base.emitter import Emitter
from audio.events import AgentSpeechStopped, UserTurn

TURNS = 4


class RecentTalk:
    """Keeps the last turns of both sides, as far as they were heard.

    Args:
        events: of the session.
    """

    def __init__(self, events: Emitter) -> None:
        self._turns: deque[tuple[str, str]] = deque(maxlen=TURNS)
        events.on(UserTurn, lambda event: self._add("user", event.text))
        events.on(AgentSpeechStopped, lambda event: self._add("assistant", event.heard))

    def turns(self) -> tuple[tuple[str, str], ...]:
        """(``user`` or ``assistant``, text), oldest first."""
        return tuple(self._turns)

    def _add(self, role: str, text: str) -> None:
        if text.strip():
            self._turns.append((role, text))
