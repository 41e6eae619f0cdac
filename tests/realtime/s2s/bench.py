"""An adapter and a scripted peer in memory, and everything that the adapter has told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from audio.pcm import Pcm
from realtime.s2s.contract import SessionConfig
from realtime.s2s.events import S2SEvent
from realtime.testing import ScriptedPeer

E = TypeVar("E", bound=S2SEvent)

PATIENCE_S = 120.0


class Bench:
    """``adapter`` is made when the bench is entered, and disconnected when it is left."""

    def __init__(self, peer: ScriptedPeer, make: Callable[[Any], Any]) -> None:
        self.peer = peer
        self.events: list[S2SEvent] = []
        self._make = make
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._running = self.peer.in_memory()
        self.adapter = self._make(await self._running.__aenter__())
        self.adapter.events.on(S2SEvent, self._took)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.adapter.disconnect()
        await asyncio.sleep(0.1)
        await self._running.__aexit__(kind, fault, trace)

    async def connect(self) -> None:
        await self.adapter.connect(SessionConfig())

    def start_connecting(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.connect())

    async def until_dialling(self) -> None:
        await asyncio.sleep(0.01)

    async def idle(self) -> None:
        """Let everything arrive that is under way."""
        await asyncio.sleep(2)

    async def seen(self, kind: type[E], right: Callable[[E], bool] = lambda _: True) -> E:
        """The first such event, already told or still to come."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.of(kind):
                    if right(event):
                        return event
                self._changed.clear()
                await self._changed.wait()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def kinds(self) -> list[str]:
        return [event.type for event in self.events]

    def _took(self, event: S2SEvent) -> None:
        self.events.append(event)
        self._changed.set()


def tone(seconds: float, rate_hz: int) -> Pcm:
    return (3000 * np.sin(np.arange(round(seconds * rate_hz)) / 12)).astype(np.int16)
