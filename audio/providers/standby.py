"""When to turn to the second of two services, when to try the first again, and how often to speak of it."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveError

log = structlog.get_logger(__name__)

TELL_EVERY_S = 30.0
"""Shortest time between two notices, in seconds."""

OnTrouble = Callable[[GloveError], None]
"""Told what the trouble is, once per time of trouble and at most once per half minute."""


class Standby:
    """The health of the first service.

    Args:
        name: of the service, for logs.
        backoff: how long it is left alone after each failure.
        on_trouble: told of trouble, not too often.
    """

    def __init__(self, name: str, backoff: Backoff | None = None, on_trouble: OnTrouble | None = None) -> None:
        self._name = name
        self._backoff = backoff or Backoff(first_s=5.0, cap_s=300.0)
        self._on_trouble = on_trouble
        self._retry_at: float | None = None
        self._told_at: float | None = None
        self._tell = True

    @property
    def in_trouble(self) -> bool:
        """Whether the first service failed the last time."""
        return self._retry_at is not None

    @property
    def may_try(self) -> bool:
        """Whether the first service may be asked now."""
        return self._retry_at is None or clock.now() >= self._retry_at

    @property
    def wait_s(self) -> float:
        """Seconds until it may be asked."""
        return 0.0 if self._retry_at is None else max(0.0, self._retry_at - clock.now())

    def failed(self, fault: GloveError) -> None:
        """It failed: the second serves for a while."""
        delay_s = self._backoff.next_delay()
        self._retry_at = clock.now() + delay_s
        log.warning(
            "second service takes over", first=self._name, code=fault.code, error=fault.message, again_in_s=delay_s
        )
        now = clock.now()
        if self._tell and (self._told_at is None or now - self._told_at >= TELL_EVERY_S):
            self._tell, self._told_at = False, now
            if self._on_trouble is not None:
                self._on_trouble(fault)

    def succeeded(self) -> None:
        """It answered."""
        if self._retry_at is not None:
            log.info("first service is back", first=self._name)
        self._retry_at = None
        self._tell = True
        self._backoff.reset()
