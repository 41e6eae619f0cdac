"""Rooms over HTTP: list, create, join, leave, end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field
from starlette.requests import Request

from agents.base.errors import GloveError
from appliance.web.auth import HERE, Door, Visitor
from appliance.web.operations import Operation, Told
from appliance.web.room_book import OpenRoom, RoomBook
from appliance.web.titles import one_line

API = "/api"
"""Where programs find what they may use."""

SOCKET = "/room"
"""Where a visitor's own room is; others are below it, by id."""


class RoomTold(Told):
    """A room.

    ``state`` says whether a session lives there (``empty`` if not) and whether somebody is in it (``called``) or is
    expected back (``waiting``). ``yours``: you may join, leave and end it.
    """

    id: str
    kind: Literal["page", "device", "other"]
    title: str
    state: Literal["empty", "called", "waiting", "closed"]
    health: str
    conversation: str | None = None
    opened: datetime | None = None
    yours: bool = False


class RoomsTold(Told):
    """All rooms."""

    rooms: list[RoomTold]


class RoomWanted(Told):
    """A room to be opened."""

    title: Annotated[str, Field(max_length=80, description="What people call it; empty for a number.")] = ""


class WayIn(Told):
    """Where a caller goes in: the address of a WebSocket on this server, spoken as docs/page.md describes."""

    room: str
    socket: str


class LeftTold(Told):
    """Whether somebody was in the room."""

    left: bool


Elsewhere = Callable[[], Sequence[RoomTold]]
"""Rooms that are not opened over HTTP, the device's own microphone above all."""

ConversationIn = Callable[[str], str | None]
"""The conversation that goes on in the room of that name."""


class RoomDesk:
    """The operations on rooms.

    Args:
        rooms: the rooms.
        door: tells who asks.
        elsewhere: further rooms, for the list alone.
        conversation: what goes on in a room.
    """

    def __init__(
        self,
        rooms: RoomBook,
        door: Door,
        elsewhere: Elsewhere = tuple,
        conversation: ConversationIn = lambda _: None,
    ) -> None:
        self._rooms = rooms
        self._door = door
        self._elsewhere = elsewhere
        self._conversation = conversation

    def operations(self) -> tuple[Operation, ...]:
        """The table of them."""
        one = f"{API}/rooms/{{room_id}}"
        return (
            Operation("GET", f"{API}/rooms", "listRooms", "List the rooms.", self._list, told=RoomsTold),
            Operation(
                "POST",
                f"{API}/rooms",
                "createRoom",
                "Open a room with a conversation of its own.",
                self._create,
                body=RoomWanted,
                told=RoomTold,
                status=201,
            ),
            Operation("GET", one, "showRoom", "Show one room.", self._show, told=RoomTold, refusals=(404,)),
            Operation("DELETE", one, "endRoom", "End a room and its session.", self._end, refusals=(404, 409)),
            Operation(
                "POST",
                f"{one}/join",
                "joinRoom",
                "Say where a caller goes in; who comes in takes the place of whoever is there.",
                self._join,
                told=WayIn,
                refusals=(404, 409),
            ),
            Operation(
                "POST",
                f"{one}/leave",
                "leaveRoom",
                "Hang up; the session waits for a return.",
                self._leave,
                told=LeftTold,
                refusals=(404, 409),
            ),
        )

    def all(self) -> list[RoomTold]:
        """Every room there is, for whoever sits at the machine itself."""
        return [*self._elsewhere(), *(self._told(entry, HERE) for entry in self._rooms.open)]

    async def _list(self, request: Request, _: None) -> RoomsTold:
        visitor = self._who(request)
        mine = [self._told(entry, visitor) for entry in self._rooms.open if may_use(visitor, entry)]
        return RoomsTold(rooms=[*self._elsewhere(), *mine])

    async def _create(self, request: Request, wanted: RoomWanted) -> RoomTold:
        visitor = self._who(request)
        return self._told(self._rooms.create(visitor.client, one_line(wanted.title)), visitor)

    async def _show(self, request: Request, _: None) -> RoomTold:
        if (found := self._other(request)) is not None:
            return found
        return self._told(self._mine(request), self._who(request))

    async def _join(self, request: Request, _: None) -> WayIn:
        self._refuse_others(request)
        entry = self._mine(request)
        return WayIn(room=entry.id, socket=f"{SOCKET}/{entry.id}")

    async def _leave(self, request: Request, _: None) -> LeftTold:
        self._refuse_others(request)
        return LeftTold(left=await self._rooms.leave(self._mine(request).id))

    async def _end(self, request: Request, _: None) -> None:
        self._refuse_others(request)
        await self._rooms.end(self._mine(request).id)

    def _who(self, request: Request) -> Visitor:
        visitor = self._door.visitor(request)
        if visitor is None:
            raise GloveError("ERR_UNAUTHORISED", "The token is missing or not valid.")
        return visitor

    def _mine(self, request: Request) -> OpenRoom:
        return usable(self._rooms, request.path_params["room_id"], self._who(request))

    def _other(self, request: Request) -> RoomTold | None:
        return next((room for room in self._elsewhere() if room.id == request.path_params["room_id"]), None)

    def _refuse_others(self, request: Request) -> None:
        if self._other(request) is not None:
            raise GloveError(
                "ERR_ROOM_NO_DOOR", "Nobody can join this room over the network, or end it.", "Go there and speak."
            )

    def _told(self, entry: OpenRoom, visitor: Visitor) -> RoomTold:
        return RoomTold(
            id=entry.id,
            kind="page",
            title=entry.title,
            state=entry.room.state.value,
            health=entry.room.health.state,
            conversation=self._conversation(entry.id),
            opened=entry.opened,
            yours=may_use(visitor, entry),
        )


def may_use(visitor: Visitor, entry: OpenRoom) -> bool:
    """Whether ``visitor`` may be in a room: its own, and for whoever sits at the machine itself all of them."""
    return visitor == HERE or entry.client == visitor.client


def usable(rooms: RoomBook, room_id: str, visitor: Visitor) -> OpenRoom:
    """The room of that id. Raises ``GloveError`` (``ERR_ROOM_UNKNOWN``), also for rooms that are none of ``visitor``'s
    business: nobody learns of them."""
    entry = rooms.find(room_id)
    if not may_use(visitor, entry):
        return rooms.find("")
    return entry
