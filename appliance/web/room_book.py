"""The rooms that pages and programs are in: one caller and one conversation each, within limits.

``appliance.daemon.rooms`` knows which sessions live and speaks through them; this module opens and ends the rooms
themselves.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.io.base import AudioIO
from realtime.browser.desk import LINGER_S, BrowserRoom, State
from realtime.browser.session import BrowserSession
from realtime.browser.webrtc import IceServers, WebRtcCalls

PAGE = "page"
"""Id of the room behind the page on this machine."""

MOST_ROOMS = 8
MOST_PER_CLIENT = 3
IDLE_S = 600.0
"""How long a room stays when nobody is in it and no session lives there, in seconds."""

LOOK_S = 5.0
"""How often idle rooms are looked for."""

OpenNamed = Callable[[str, AudioIO], Awaitable[BrowserSession]]
"""Makes the session of the room with that name in its sound."""


@dataclass
class OpenRoom:
    """A room that is open. ``kept`` rooms do not end because they are idle."""

    id: str
    title: str
    client: str
    room: BrowserRoom
    opened: datetime
    empty_since_s: float
    kept: bool = False


class RoomBook:
    """Opens, finds and ends rooms.

    Args:
        open_session: makes the session of a room when its first caller comes.
        assistant_name: how pages call the agent.
        linger_s: how long a session outlives its caller.
        idle_s: how long an empty room stays.
        most_rooms: rooms at the same time, without the page's own.
        most_per_client: rooms that one client may have opened at the same time.
        ice: what helps callers over WebRTC to reach the rooms.

    Attributes:
        calls: lets callers in over WebRTC.
    """

    def __init__(
        self,
        open_session: OpenNamed,
        *,
        assistant_name: str = "Glove",
        linger_s: float = LINGER_S,
        idle_s: float = IDLE_S,
        most_rooms: int = MOST_ROOMS,
        most_per_client: int = MOST_PER_CLIENT,
        ice: IceServers | None = None,
    ) -> None:
        self.calls = WebRtcCalls(ice)
        self._open_session = open_session
        self._assistant_name = assistant_name
        self._linger_s = linger_s
        self._idle_s = idle_s
        self._most_rooms = most_rooms
        self._most_per_client = most_per_client
        self._rooms: dict[str, OpenRoom] = {}
        self._scope = Scope("room book")
        self._closed = False
        self.page = self._add(PAGE, "Page", "here", kept=True)

    def start(self) -> None:
        """End idle rooms from now on."""
        self._scope.supervise(self._end_idle, "idle rooms", Backoff())

    @property
    def open(self) -> tuple[OpenRoom, ...]:
        """All rooms, oldest first."""
        return tuple(self._rooms.values())

    def find(self, room_id: str) -> OpenRoom:
        """The room of that id. Raises ``GloveError`` (``ERR_ROOM_UNKNOWN``)."""
        entry = self._rooms.get(room_id)
        if entry is None:
            raise GloveError(
                "ERR_ROOM_UNKNOWN", "There is no such room (any more).", "glove rooms and GET /api/rooms list them."
            )
        return entry

    def create(self, client: str, title: str = "") -> OpenRoom:
        """Open another room for ``client``.

        Raises:
            GloveError: ``ERR_ROOMS_FULL``, the client or the appliance has as many as it may.
        """
        self._make_space(client)
        number = secrets.token_hex(4)
        return self._add(number, title or f"Room {number}", client)

    def own(self, client: str, title: str) -> OpenRoom:
        """The room that a device is in without asking for one: always the same, so that its conversation goes on.

        Raises:
            GloveError: ``ERR_ROOMS_FULL``.
        """
        if client == self.page.client:
            return self.page
        if (entry := self._rooms.get(client)) is not None:
            return entry
        self._make_space(client)
        return self._add(client, title, client)

    async def leave(self, room_id: str) -> bool:
        """Hang up on the caller of a room, whose conversation waits for a return. Returns whether there was one."""
        return await self.find(room_id).room.hang_up("you left the room")

    async def end(self, room_id: str) -> None:
        """End a room and what was going on in it. Raises ``GloveError`` (``ERR_ROOM_UNKNOWN``, ``ERR_ROOM_KEPT``)."""
        entry = self.find(room_id)
        if entry.kept:
            raise GloveError("ERR_ROOM_KEPT", "This room is always there.", "Leave it instead.")
        del self._rooms[room_id]
        await entry.room.close()

    async def end_all_of(self, client: str) -> None:
        """End every room that ``client`` has opened."""
        for entry in [entry for entry in self.open if entry.client == client and not entry.kept]:
            await self.end(entry.id)

    async def close(self) -> None:
        """Say goodbye in every room and end them; idempotent."""
        self._closed = True
        await self._scope.close()
        await asyncio.gather(*(entry.room.close() for entry in self.open))
        await self.calls.close()

    def _make_space(self, client: str) -> None:
        if self._closed:
            raise GloveError("ERR_ROOMS_FULL", "The appliance is being stopped.")
        mine = [entry for entry in self.open if entry.client == client and not entry.kept]
        if len(mine) >= self._most_per_client:
            raise GloveError("ERR_ROOMS_FULL", f"You have {len(mine)} rooms already.", "End one of them first.")
        if len(self._rooms) - 1 >= self._most_rooms:
            raise GloveError("ERR_ROOMS_FULL", f"All {self._most_rooms} rooms are in use.", "Try again later.")

    def _add(self, room_id: str, title: str, client: str, *, kept: bool = False) -> OpenRoom:
        async def opened(sound: AudioIO) -> BrowserSession:
            return await self._open_session(room_id, sound)

        room = BrowserRoom(opened, assistant_name=self._assistant_name, linger_s=self._linger_s)
        entry = OpenRoom(room_id, title, client, room, clock.wall(), clock.now(), kept)
        self._rooms[room_id] = entry
        return entry

    async def _end_idle(self) -> None:
        while True:
            await asyncio.sleep(min(LOOK_S, self._idle_s))
            for entry in self.open:
                if entry.room.state is not State.EMPTY:
                    entry.empty_since_s = clock.now()
                elif not entry.kept and clock.now() - entry.empty_since_s >= self._idle_s:
                    await self.end(entry.id)
