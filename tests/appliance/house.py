"""A daemon on virtual time: simulated ears and mouth, rooms that record what is played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from appliance.config.schema import GloveConfig
from appliance.daemon.daemon import Daemon
from appliance.daemon.instance import Instance
from appliance.session.build import Session
from audio.events import AgentSpeechStopped, VoiceEvent
from audio.io.base import AudioIO, OnFrame, RoomHealth
from audio.io.player import Player


def simulated(store: Path | str = "memory", **sections: dict[str, Any]) -> GloveConfig:
    """Everyday abilities with a simulated mouth; the rooms are deaf, so that hours of silence cost nothing."""
    chosen: dict[str, dict[str, Any]] = {
        "speech": {"stt": "simulated", "tts": "simulated"},
        "turns": {"mode": "manual"},
        "model": {"provider": "none"},
        "store": {"path": str(store)},
    }
    for section, values in sections.items():
        chosen[section] = {**chosen.get(section, {}), **values}
    return GloveConfig(**chosen)  # type: ignore[arg-type]


class Room(AudioIO):
    """Nobody speaks in it, and what is played is not kept; it moves in tenths of a second, so that hours cost little.

    Its health is what the test says in ``told``.
    """

    def __init__(self) -> None:
        self.player = Player()
        self.told = RoomHealth()
        self.pump: asyncio.Task[None] | None = None
        self.ticks = 0

    @property
    def health(self) -> RoomHealth:
        return self.told

    @property
    def time_s(self) -> float:
        return self.ticks / 10

    async def open(self, on_frame: OnFrame) -> None:
        self.pump = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self.pump is not None:
            self.pump.cancel()

    async def _run(self) -> None:
        while True:
            self.player.pull(self.player.rate_hz // 10)
            self.ticks += 1
            await asyncio.sleep(0.1)


class Inhabited:
    """A room in which a session lives, and what happened there."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.events: list[VoiceEvent] = []
        session.voice.events.on(VoiceEvent, self.events.append)

    @property
    def room(self) -> Room:
        assert isinstance(self.session.room, Room)
        return self.session.room

    @property
    def heard(self) -> list[str]:
        """What was heard of each reply and announcement."""
        return [event.heard for event in self.events if isinstance(event, AgentSpeechStopped)]

    async def say(self, text: str) -> str:
        """Type a line and return what is answered."""
        before = len(self.heard)
        self.session.voice.say_to_agent(text)
        async with asyncio.timeout(60):
            while not self.session.voice.settled:
                await asyncio.sleep(0.02)
        return " ".join(self.heard[before:])


class House:
    """A running daemon. ``enter`` opens a room in it; ``said`` is what it told people."""

    def __init__(self, daemon: Daemon, said: list[str]) -> None:
        self.daemon = daemon
        self.said = said

    async def enter(self, name: str) -> Inhabited:
        session = await self.daemon.parts.session(Room(), name=name)
        inhabited = Inhabited(session)
        await self.daemon.start_session(name, session)
        return inhabited


@asynccontextmanager
async def house(
    folder: Path, config: GloveConfig, features: dict[str, Callable[[Daemon], Awaitable[None]]] | None = None
) -> AsyncIterator[House]:
    """A daemon that runs, with its lock in ``folder``; it is stopped at the end, and must stop."""
    instance = Instance(folder / "run")
    said: list[str] = []
    daemon = Daemon(config, instance, features or {}, say=said.append)
    running = asyncio.ensure_future(daemon.run())
    try:
        while daemon._parts is None and not running.done():
            await asyncio.sleep(0.01)
        if running.done():
            await running
        yield House(daemon, said)
    finally:
        for entry in daemon.rooms.living:
            await entry.session.close()
        daemon.stop()
        async with asyncio.timeout(3.0):
            await running
        instance.release()
