"""Speaking first: what the appliance says although nobody asked, at a moment when it disturbs nobody."""

from __future__ import annotations

import asyncio
from typing import Protocol

from agents.base import clock
from audio.answering import Answering
from audio.changes import Changes
from audio.listening import Listening
from audio.voice_settings import Mute

URGENT_WAIT_S = 10.0
"""How long something urgent waits for a reply in progress before it cuts in."""


class AnnouncingHost(Protocol):
    """The session that speaks."""

    @property
    def is_active(self) -> bool:
        """Whether the session is started."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing is being heard, thought or said."""
        ...

    def awaits_answer(self) -> bool:
        """Whether the user was asked something and has not answered; what is urgent may be said meanwhile."""
        ...

    def expects_speech(self) -> bool:
        """Whether the user is speaking or was just invited to."""
        ...

    def user_speaks(self) -> bool:
        """Whether an utterance is in progress."""
        ...

    def agent_busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        ...

    def interrupt(self) -> None:
        """Cut the reply in progress."""
        ...


class Moments:
    """Finds the moment for what is said unasked; one thing at a time.

    Args:
        host: the session.
        changes: of what ``host`` says.

    Attributes:
        turn: held by whoever speaks unasked.
    """

    def __init__(self, host: AnnouncingHost, changes: Changes) -> None:
        self._host = host
        self._changes = changes
        self.turn = asyncio.Lock()
        self._cuts = 0
        self._narration: object = None
        self._muted: list[Listening] = []

    @property
    def narrating(self) -> bool:
        """Whether a narration is being spoken."""
        return self._narration is not None

    def cut(self) -> None:
        """The session is interrupted or stopped: a narration ends, or does not begin if it still waits."""
        self._cuts += 1
        self._narration = None

    async def come(self, *, urgent: bool) -> None:
        """Wait until something may be said. Call it holding ``turn``.

        A message waits until nothing is heard, thought or said and nobody was just invited to speak. What is urgent
        waits for the user to finish, but for a reply no longer than ``URGENT_WAIT_S``.
        """
        if urgent:
            await self._urgent()
            return
        host = self._host
        await self._changes.until(lambda: not host.is_active or (host.settled and not host.expects_speech()))

    async def narrate(self, answering: Answering, listening: Listening, text: str, language: str) -> None:
        """Speak ``text`` with the microphone muted, after the reply in progress; an interruption ends it.

        Raises:
            GloveError: the voice failed.
        """
        cuts, narration = self._cuts, object()
        self._muted.append(listening)
        if not listening.muted:
            listening.mute(Mute.NARRATION)
        try:
            await self._changes.until(lambda: not answering.busy)
            if self._cuts == cuts:
                self._narration = narration
                await answering.say(text, language)
        finally:
            # A narration that was cut may take a moment to end; by then the next one may be under way.
            if self._narration is narration:
                self._narration = None
            self._muted.remove(listening)
            if listening not in self._muted:
                listening.unmute(Mute.NARRATION)

    async def _urgent(self) -> None:
        host, deadline = self._host, clock.now() + URGENT_WAIT_S
        while not self._may_alert():
            if host.user_speaks():
                await self._changes.until(lambda: not host.user_speaks())
                deadline = clock.now() + URGENT_WAIT_S
            elif not await self._changes.until(lambda: self._may_alert() or host.user_speaks(), deadline):
                host.interrupt()
                deadline = clock.now() + URGENT_WAIT_S

    def _may_alert(self) -> bool:
        host = self._host
        if not host.is_active or host.settled:
            return True
        return host.awaits_answer() and not host.agent_busy() and not host.user_speaks()
