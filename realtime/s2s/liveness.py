"""Whether the provider is still there, judged by what it sends and not by how fast its pongs are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agents.base import clock

QUIET_S = 15.0
"""After so many seconds without a message the provider is asked for a sign of life."""

SILENT_S = 60.0
"""After so many seconds without a message or a pong the connection counts as lost. Pongs of busy providers are known to
take half a minute."""

ANSWER_S = 20.0
"""Longest wait for something that the provider owes, such as the next piece of an answer."""

_LOOK_S = 1.0


class Fallen(Exception):
    """The provider has fallen silent; the message says in what way."""


class Liveness:
    """Keeps what is owed and when something was last heard."""

    def __init__(self) -> None:
        self._heard_at = clock.now()
        self._owed: dict[str, float] = {}

    def heard(self) -> None:
        """Something came."""
        self._heard_at = clock.now()

    def owe(self, what: str, within_s: float = ANSWER_S) -> None:
        """``what`` has to come within so many seconds from now."""
        self._owed[what] = clock.now() + within_s

    def met(self, what: str) -> None:
        """``what`` came, or is not wanted any more."""
        self._owed.pop(what, None)

    async def watch(self, ping: Callable[[], Awaitable[None]]) -> None:
        """Run until the provider has fallen silent. ``ping`` returns once the provider has answered it.

        Raises:
            Fallen: always, unless cancelled.
        """
        asking: asyncio.Task[None] | None = None
        try:
            while True:
                await asyncio.sleep(_LOOK_S)
                self._judge()
                if asking is not None and asking.done():
                    if asking.exception() is None:
                        self.heard()
                    asking = None
                if asking is None and clock.now() - self._heard_at > QUIET_S:
                    asking = asyncio.ensure_future(ping())
        finally:
            if asking is not None:
                asking.cancel()

    def _judge(self) -> None:
        now = clock.now()
        late = [what for what, by in self._owed.items() if now > by]
        if late:
            raise Fallen(f"it owes {late[0]}")
        if now - self._heard_at > SILENT_S:
            raise Fallen("it gives no sign of life")
