"""The rooms that the agent is in: each joined once, as many as the appliance can bear, and each left properly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.io.base import AudioIO
from audio.voice import GloveVoice
from realtime.livekit.attach import attach_realtime
from realtime.livekit.events import TransportDisconnected
from realtime.livekit.room import LiveKitRoom
from realtime.livekit.transport import LiveKitTransport

log = structlog.get_logger(__name__)

LOOK_S = 0.5
"""How often it is looked whether a room has become empty."""


class StaySession(Protocol):
    """A session in a room; ``appliance.session.build.Session`` is one."""

    @property
    def voice(self) -> GloveVoice:
        """The voice session."""
        ...

    async def start(self) -> None:
        """Join and listen. Raises ``GloveError``."""
        ...

    async def close(self) -> None:
        """Leave; idempotent."""
        ...


MakeSession = Callable[[str, AudioIO], Awaitable[StaySession]]
"""Makes the session of the room with that name in its sound; nothing is heard yet."""


@dataclass
class Stay:
    """The agent in one room.

    Attributes:
        room: its name.
        kept: whether it is not left because nobody is there.
        over: done when it is over: the fault that ended it, or None.
    """

    room: str
    kept: bool
    over: asyncio.Future[GloveError | None]
    joined: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)


class Stays:
    """Joins and leaves.

    Args:
        transport: makes the transport for a room.
        make_session: makes the session in it.
        most: rooms at the same time; the one that is always kept counts as well.
        idle_s: how long a room without people is not left yet.
    """

    def __init__(
        self, transport: Callable[[str], LiveKitTransport], make_session: MakeSession, *, most: int, idle_s: float
    ) -> None:
        self.most = most
        self._transport = transport
        self._make_session = make_session
        self._idle_s = idle_s
        self._stays: dict[str, Stay] = {}
        self._scope = Scope("livekit rooms")

    @property
    def rooms(self) -> tuple[str, ...]:
        """Names of the rooms that the agent is in or is joining."""
        return tuple(self._stays)

    @property
    def load(self) -> float:
        """0 to 1."""
        return len(self._stays) / self.most

    def join(self, room: str, *, kept: bool = False) -> Stay:
        """Be in ``room``. Asked for twice, the agent is there once.

        Raises:
            GloveError: ``ERR_LIVEKIT_FULL``.
        """
        if (known := self._stays.get(room)) is not None and not known.leaving.is_set():
            known.kept = known.kept or kept
            return known
        if known is not None or len(self._stays) >= self.most or self._scope.closed:
            raise GloveError(
                "ERR_LIVEKIT_FULL",
                f"The agent is in {len(self._stays)} of at most {self.most} rooms.",
                "Raise livekit.most_rooms if this machine can bear it.",
            )
        stay = Stay(room, kept, asyncio.get_running_loop().create_future())
        self._stays[room] = stay
        self._scope.spawn(self._live(stay), f"stay in {room}")
        return stay

    def leave(self, room: str) -> bool:
        """Leave ``room`` soon. Returns whether the agent was there."""
        stay = self._stays.get(room)
        if stay is not None:
            stay.leaving.set()
        return stay is not None

    async def close(self) -> None:
        """Leave all rooms; idempotent."""
        for stay in self._stays.values():
            stay.leaving.set()
        waits = [stay.over for stay in self._stays.values()]
        if waits:
            await asyncio.wait(waits, timeout=3.0)
        await self._scope.close()

    async def _live(self, stay: Stay) -> None:
        fault: GloveError | None = None
        try:
            fault = await self._stay(stay)
        except GloveError as failed:
            fault = failed
            log.warning("the agent is not in a room it was called into", room=stay.room, code=failed.code)
        finally:
            del self._stays[stay.room]
            if not stay.over.done():
                stay.over.set_result(fault)

    async def _stay(self, stay: Stay) -> GloveError | None:
        transport = self._transport(stay.room)
        ended: list[TransportDisconnected] = []
        transport.events.on(TransportDisconnected, ended.append)
        transport.events.on(TransportDisconnected, lambda _: stay.leaving.set())
        room = LiveKitRoom(transport)
        try:
            session = await self._make_session(stay.room, room)
            detach = attach_realtime(session.voice, transport)
            try:
                await session.start()
                stay.joined.set()
                await self._until_over(stay, transport)
            finally:
                detach()
                await session.close()
        finally:
            await room.close()
        return ended[0].fault if ended else None

    async def _until_over(self, stay: Stay, transport: LiveKitTransport) -> None:
        """Return when the room is to be left: it is asked for, or nobody was there for too long."""
        empty_since = clock.now()
        while not stay.leaving.is_set():
            if transport.people.callers or stay.kept or not transport.is_connected:
                empty_since = clock.now()
            elif clock.now() - empty_since >= self._idle_s:
                log.info("nobody is in the room any more", room=stay.room)
                return
            try:
                async with asyncio.timeout(LOOK_S):
                    await stay.leaving.wait()
            except TimeoutError:
                continue
