"""One connection of a scripted peer, playing its script."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audio.providers.socket import ConnectionEnded
from realtime.testing.channel import Channel
from realtime.testing.dialect import Dialect, Told, Violation
from realtime.testing.signal import Signal

if TYPE_CHECKING:
    from realtime.testing.steps import Step


class PeerSession:
    """Plays ``steps`` to one client.

    Attributes:
        received: all messages of the client but sound, in order.
        heard_samples: sound of the user so far.
        left: steps that were not played.
        faults: what was not as the script or the protocol has it.
    """

    def __init__(self, dialect: Dialect, channel: Channel, steps: Sequence[Step], ignoring: frozenset[str]) -> None:
        self.dialect = dialect
        self.channel = channel
        self.received: list[Told] = []
        self.heard_samples = 0
        self.left: deque[Step] = deque(steps)
        self.faults: list[str] = []
        self._ignoring = ignoring
        self._inbox: deque[Told] = deque()
        self._asked_samples = 0
        self._is_gone = False
        self._last: Told = {}
        self._changed = Signal()

    @property
    def last(self) -> Told:
        """The newest message that a step has taken."""
        return self._last

    async def run(self) -> None:
        """Until the client is gone."""
        playing = asyncio.ensure_future(self._play())
        try:
            await self._read()
        finally:
            self._is_gone = True
            self._changed.notify()
            await asyncio.wait({playing})
            if not self.faults:
                self.faults = [f"no step for {self.dialect.kind(told)} of the client" for told in self._inbox]

    async def next_message(self) -> Told:
        """The next message of the client. Raises ``Violation`` if it goes instead."""
        await self._changed.until(lambda: self._inbox or self._is_gone)
        if not self._inbox:
            raise Violation("the client went away")
        self._last = self._inbox.popleft()
        return self._last

    async def hear(self, samples: int) -> None:
        """Wait for so many more samples than steps have heard before."""
        self._asked_samples += samples
        await self._changed.until(lambda: self.heard_samples >= self._asked_samples or self._is_gone)
        if self.heard_samples < self._asked_samples:
            raise Violation(f"the client went away after {self.heard_samples} of {self._asked_samples} samples")

    async def gone(self) -> None:
        """Wait until the client is gone."""
        await self._changed.until(lambda: self._is_gone)

    async def pause(self, seconds: float) -> None:
        """Wait so long, but not for a client that is gone."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.gone()

    async def say(self, told: Told) -> None:
        """Send a message, if it is one of the protocol."""
        await self.channel.send(self.dialect.encode(told))

    async def _play(self) -> None:
        try:
            while self.left:
                await self.left[0].play(self)
                self.left.popleft()
        except Violation as fault:
            self.faults.append(str(fault))
            await self.channel.close(1008, "not as the script has it")

    async def _read(self) -> None:
        try:
            while True:
                await self._take(await self.channel.receive())
        except ConnectionEnded:
            return

    async def _take(self, message: str | bytes) -> None:
        try:
            told = self.dialect.decode(message)
            samples = self.dialect.samples(told)
        except Violation as fault:
            self.faults.append(str(fault))
            await self.channel.close(1007, str(fault)[:120].encode("ascii", "replace").decode())
            return
        if samples:
            self.heard_samples += samples
        else:
            self.received.append(told)
            if self.dialect.kind(told) not in self._ignoring:
                self._inbox.append(told)
        self._changed.notify()
