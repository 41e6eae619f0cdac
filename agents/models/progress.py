"""Signs of work on what is not said, so that a model that thinks is not taken for one that is gone."""

from __future__ import annotations

from agents.base import clock
from agents.core.events import AgentEvent, ModelProgress

PROGRESS_EVERY_S = 1.0
"""How often work on what is not said is reported, at most."""


class Progress:
    """Reports work on the reply ``reply_id``, not more often than every ``PROGRESS_EVERY_S``."""

    def __init__(self, reply_id: str) -> None:
        self._reply_id = reply_id
        self._reported_at: float | None = None

    def events(self) -> list[AgentEvent]:
        """The report that is due now, if any."""
        now = clock.now()
        if self._reported_at is not None and now - self._reported_at < PROGRESS_EVERY_S:
            return []
        self._reported_at = now
        return [ModelProgress(self._reply_id)]
