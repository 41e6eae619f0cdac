"""A caller without a browser: a socket in memory, and a session whose user speaks in levels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.core.glove import Glove
from agents.core.model import ModelAdapter
from agents.core.tool import Tool
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.scripted import ScriptedModel
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.voice import GloveVoice
from realtime.browser.desk import BrowserRoom
from realtime.browser.protocol import RATE_HZ
from tests.support.session import LevelVad, LivingRoom

BROWSER_FRAME = 320


class MemorySocket:
    """The caller's end of a connection. ``sent`` is everything that arrived, in order."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any] | bytes] = []
        self.closed: tuple[int, str] | None = None
        self.reading = asyncio.Event()
        self.reading.set()
        self._inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    async def receive(self) -> str | bytes | None:
        return await self._inbox.get()

    async def send(self, data: str | bytes) -> None:
        await self.reading.wait()
        if self.closed is not None:
            raise ConnectionError("closed")
        self.sent.append(json.loads(data) if isinstance(data, str) else data)

    async def close(self, code: int, reason: str) -> None:
        if self.closed is None:
            self.closed = (code, reason)
            self._inbox.put_nowait(None)

    def say(self, data: str | bytes | dict[str, Any]) -> None:
        self._inbox.put_nowait(json.dumps(data) if isinstance(data, dict) else data)

    def hang_up(self) -> None:
        """The connection is lost."""
        self.closed = self.closed or (1006, "")
        self._inbox.put_nowait(None)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.sent if isinstance(message, dict) and message["t"] == kind]

    def types(self, *wanted: str) -> list[str]:
        names = [message["t"] if isinstance(message, dict) else "sound" for message in self.sent]
        squeezed = [name for i, name in enumerate(names) if name != "sound" or names[i - 1 : i] != ["sound"]]
        return [name for name in squeezed if not wanted or name in wanted]

    @property
    def samples(self) -> int:
        return sum(len(data) // 2 for data in self.sent if isinstance(data, bytes))


class PageGlove(Glove):
    """An agent with a past."""

    past: tuple[tuple[str, str], ...] = ()

    async def history(self, turns: int = 20) -> list[tuple[str, str]]:
        return list(self.past)[-2 * turns :]


@dataclass(frozen=True)
class Mind:
    agent: PageGlove
    timers: TimerBook


class PageSession:
    """A session in a room of the page, on scripted parts."""

    language = "en"

    def __init__(self, room: AudioIO, agent: PageGlove, living: LivingRoom) -> None:
        self.room = room
        self.mind = Mind(agent, TimerBook(EverydayBook(None)))
        self.closed = False
        self.vad = LevelVad()
        self.voice = GloveVoice(
            agent,
            room,
            stt=ScriptedSegmentStt(living.text_of, latency_s=0.1),
            tts=ScriptedVoice(),
            vad=self.vad,
            partials=ScriptedSegmentStt(living.text_of, latency_s=0.05),
        )

    async def start(self) -> None:
        await self.mind.timers.start()
        await self.voice.start()

    async def close(self) -> None:
        self.closed = True
        await self.voice.stop()
        await self.mind.timers.close()


class House:
    """A browser room with an agent behind it, and callers."""

    def __init__(
        self,
        replies: list[str],
        *,
        tools: tuple[Tool[Any], ...] = (),
        model: ModelAdapter | None = None,
        **options: float,
    ) -> None:
        self.living = LivingRoom()
        self.agent = PageGlove(model=model or ScriptedModel(list(replies)), system_prompt="Be brief.")
        for tool in tools:
            self.agent.fold(tool)
        self.agent.build()
        self.sessions: list[PageSession] = []
        self.room = BrowserRoom(self.open, **options)
        self._calls: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> House:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.room.close()
        await asyncio.wait_for(asyncio.gather(*self._calls), 5)

    async def open(self, room: AudioIO) -> PageSession:
        self.sessions.append(PageSession(room, self.agent, self.living))
        return self.sessions[-1]

    @property
    def session(self) -> PageSession:
        return self.sessions[-1]

    async def call(self) -> MemorySocket:
        """Connect, and return when the room is ready."""
        socket = MemorySocket()
        self._calls.append(asyncio.create_task(self.room.serve(socket)))
        await until(lambda: socket.sent or socket.closed)
        return socket

    async def speak(self, socket: MemorySocket, text: str, seconds: float = 1.0) -> None:
        """Say ``text`` into the microphone and then stay silent, in frames like a browser's, for half a second more."""
        self.living.speak(text, seconds)
        frames = [*self.living.waiting, *[np.zeros(160, np.int16)] * 50]
        self.living.waiting.clear()
        await send_sound(socket, np.concatenate(frames))


async def send_sound(socket: MemorySocket, pcm: Pcm) -> None:
    for start in range(0, pcm.size, BROWSER_FRAME):
        socket.say(pcm[start : start + BROWSER_FRAME].astype("<i2").tobytes())
        await asyncio.sleep(BROWSER_FRAME / RATE_HZ)


async def until(condition: Callable[[], object], limit_s: float = 30.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.005)
