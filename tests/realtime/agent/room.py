"""A whole realtime session in a room on virtual time; the user of the cascade speaks in levels (``LivingRoom``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from agents.core.glove import Glove
from agents.core.tool import Tool
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from audio.events import VoiceEvent
from audio.io.pump import PumpRoom
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.voice_settings import VoiceSettings
from realtime.link_state import LinkSettings
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.testing import GeminiDialect, OpenAIDialect, ScriptedPeer, Step
from realtime.voice import RealtimeVoice
from tests.support.session import LevelVad, LivingRoom

E = TypeVar("E", bound=VoiceEvent)


class Room:
    """A started session with ``scripts``."""

    def __init__(
        self,
        *scripts: Sequence[Step],
        tools: Sequence[Tool[Any]] = (),
        replies: Sequence[Any] = (),
        gemini: bool = False,
        manual: bool = False,
        settings: VoiceSettings | None = None,
        link: LinkSettings | None = None,
        ignoring: Sequence[str] = (),
    ) -> None:
        self.peer = ScriptedPeer(GeminiDialect() if gemini else OpenAIDialect(), *scripts, ignoring=ignoring)
        self.living = LivingRoom()
        self.io = PumpRoom(self.living, self.living)
        self.glove = Glove(model=ScriptedModel(list(replies)), system_prompt="Be brief.", store=MemoryStore())
        for tool in tools:
            self.glove.fold(tool)
        self.glove.build()
        self.events: list[VoiceEvent] = []
        self._gemini, self._manual = gemini, manual
        self._settings, self._link = settings, link
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._memory = self.peer.in_memory()
        dialler = await self._memory.__aenter__()
        if self._gemini:
            adapter = GeminiLive("key", dialler=dialler)
        elif self._manual:
            adapter = OpenAIRealtime("sk", OpenAISettings(turn_detection=None), dialler=dialler)
        else:
            adapter = OpenAIRealtime("sk", dialler=dialler)
        self.voice = RealtimeVoice(
            self.glove,
            self.io,
            adapter,
            link=self._link,
            stt=ScriptedSegmentStt(self.living.text_of, latency_s=0.1),
            tts=ScriptedVoice(),
            vad=LevelVad(),
            settings=self._settings,
        )
        self.voice.events.on(VoiceEvent, self._took)
        await self.voice.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.voice.stop()
        await asyncio.sleep(0.1)
        await self._memory.__aexit__(kind, fault, trace)

    async def history(self) -> list[tuple[str, str]]:
        return [(each.sender, each.text) for each in await self.glove.store.get_messages() if each.text]

    def types(self) -> list[str]:
        return [event.type for event in self.events if event.type not in ("mode", "metric", "user_partial")]

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def seen(self, kind: type[E], right: Callable[[E], bool] = lambda _: True) -> E:
        async with asyncio.timeout(900):
            while True:
                for event in self.of(kind):
                    if right(event):
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def settle(self) -> None:
        async with asyncio.timeout(900):
            await asyncio.sleep(1)
            while not self.voice.settled:
                await asyncio.sleep(0.1)

    def _took(self, event: VoiceEvent) -> None:
        self.events.append(event)
        self._changed.set()
