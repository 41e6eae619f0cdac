"""A realtime agent, a scripted provider in memory, and a player that is pulled in the rhythm of virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from agents.core.glove import Glove
from agents.core.tool import Tool
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from audio.io.player import Player
from audio.pcm import Pcm, silence
from realtime.agent import RealtimeAgent
from realtime.s2s.contract import S2SAdapter
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.gemini.messages import GeminiSettings
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.testing import Dialect, GeminiDialect, OpenAIDialect, ScriptedPeer, Step

E = TypeVar("E")

PATIENCE_S = 900.0


def glove(*tools: Tool[Any], store: MemoryStore | None = None, **options: Any) -> Glove:
    made = Glove(
        model=ScriptedModel([]), system_prompt="Be brief.", store=store or MemoryStore(), builtin_tools=False, **options
    )
    for tool in tools:
        made.fold(tool)
    return made.build()


def tone(seconds: float, rate_hz: int = 24_000) -> Pcm:
    return (3000 * np.sin(np.arange(round(seconds * rate_hz)) / 12)).astype(np.int16)


class Stage:
    """An agent that talks with ``scripts``; entered, it is started, and its player plays."""

    def __init__(
        self,
        *scripts: Sequence[Step],
        agent: Glove | None = None,
        gemini: bool = False,
        ignoring: Sequence[str] = (),
        started: bool = True,
        adapter: Callable[[Any], S2SAdapter] | None = None,
        microphone: bool = False,
        pull_s: float = 0.01,
        **options: Any,
    ) -> None:
        dialect: Dialect = GeminiDialect() if gemini else OpenAIDialect()
        self.peer = ScriptedPeer(dialect, *scripts, ignoring=ignoring)
        self.glove = agent or glove()
        self.player = Player()
        self.events: list[Any] = []
        self.played: list[Pcm] = []
        self._make = adapter or (_gemini if gemini else _openai)
        self._options = options
        self._started = started
        self._microphone: Callable[[int], Pcm] | None = silence if microphone else None
        self._pull_s = pull_s
        self._strict = True
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._memory = self.peer.in_memory()
        dialler = await self._memory.__aenter__()
        self.agent = RealtimeAgent(self.glove, self._make(dialler), player=self.player, **self._options)
        self.player.on_drained = self.agent.played_out
        self.agent.events.on(object, self._took)
        self._tasks.append(asyncio.create_task(self._pump()))
        if self._started:
            await self.agent.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.agent.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.sleep(0.1)
        if not self._strict:
            self.peer._scripts.clear()  # pyright: ignore[reportPrivateUsage]
        await self._memory.__aexit__(kind, fault, trace)

    def hears(self, microphone: Callable[[int], Pcm]) -> None:
        """The user's sound, so many samples at a time."""
        self._microphone = microphone

    def leftover(self) -> None:
        """Scripts that are not used are no fault."""
        self._strict = False

    async def history(self) -> list[tuple[str, str]]:
        return [(each.sender, each.text) for each in await self.glove.store.get_messages() if each.text]

    async def seen(self, kind: type[E], right: Callable[[E], bool] = lambda _: True) -> E:
        """The first such event, already told or still to come."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.of(kind):
                    if right(event):
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def quiet(self) -> None:
        """Nothing is being heard, said or done."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.sleep(0.5)
            while not self.agent.idle():
                await asyncio.sleep(0.05)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def _took(self, event: Any) -> None:
        self.events.append(event)
        self._changed.set()

    async def _pump(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        block = round(24_000 * self._pull_s)
        for tick in range(10**9):
            self.played.append(self.player.pull(block))
            if self._microphone is not None:
                self.agent.send_audio(self._microphone(block))
            await asyncio.sleep(began + (tick + 1) * self._pull_s - loop.time())


def _openai(dialler: Any) -> S2SAdapter:
    return OpenAIRealtime("sk-key", OpenAISettings(), dialler=dialler)


def _gemini(dialler: Any) -> S2SAdapter:
    return GeminiLive("key", GeminiSettings(), dialler=dialler)
