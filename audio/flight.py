"""One turn of the agent on its way to the ear.

A turn is usually spoken in one reply. A question that is asked aloud ends that reply and hands the floor to the user;
what the turn says afterwards goes into another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent
from audio.reply import Reply


class Flight:
    """The subscriber of the agent for one turn.

    Args:
        language: of the turn.
        awaited: whether somebody waits for it; otherwise it makes no sound before its first word.
        go_on: makes the next reply when the turn has something to say while the user has the floor.

    Attributes:
        token: stops the turn.
        reply: what it is spoken in, or None while the user has the floor.
        watch: sees to it that the reply does not leave the user in silence.
    """

    def __init__(self, language: str, go_on: Callable[[Flight], Reply], *, awaited: bool) -> None:
        self.token = AbortToken()
        self.language = language
        self.awaited = awaited
        self.reply: Reply | None = None
        self.watch: asyncio.Task[None] | None = None
        self._last: Reply | None = None
        self._go_on = go_on
        self._prepared: AbortToken | None = None

    def speak_in(self, reply: Reply, watch: asyncio.Task[None]) -> None:
        """The turn has the floor: what it says goes into ``reply``."""
        if self._last is not None:
            reply.follow(self._last)
        self._last = self.reply = reply
        self.watch = watch

    def give_floor(self) -> None:
        """The turn says nothing for a while."""
        self.reply = None
        self.unwatch()

    def owns(self, prepared: AbortToken) -> None:
        """The answer that was prepared for the turn ends with it."""
        self._prepared = prepared
        self.token.on_abort(self.let_go)

    def let_go(self) -> None:
        """An answer that was prepared and not used is thrown away."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.abort("the turn is over")

    def unwatch(self) -> None:
        """Nobody waits for the next word."""
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None

    async def record(self, event: AgentEvent) -> None:
        """Take one event of the agent (the ``Subscriber`` contract)."""
        last = self._last
        if self.reply is None and last is not None and last.speaks(event) and not self.token.aborted:
            self._go_on(self)
        reply = self.reply or last
        if reply is not None:
            await reply.record(event)
