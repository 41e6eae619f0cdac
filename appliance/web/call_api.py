"""Calls over WebRTC: the offer of a caller comes in over HTTP, and the answer goes back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from starlette.requests import Request

from agents.base.errors import GloveError
from appliance.web.auth import Door, Visitor
from appliance.web.operations import Operation, Told
from appliance.web.room_api import API, usable
from appliance.web.room_book import RoomBook
from realtime.browser.desk import BrowserRoom
from realtime.browser.webrtc_offer import MAX_OFFER_BYTES

BODY_BYTES = 2 * MAX_OFFER_BYTES
"""Longest body: an offer whose line ends are escaped."""


class IceServer(Told):
    """One server, as browsers take it in ``iceServers``."""

    urls: list[str]
    username: str = ""
    credential: str = ""


class CallTerms(Told):
    """How to call."""

    ice_servers: list[IceServer]
    connect_ms: Annotated[int, Field(description="A call that is not open after this time is given up.")]


class CallOffer(Told):
    """What the caller offers: one audio line with Opus and one data channel, all candidates included."""

    sdp: Annotated[str, Field(max_length=MAX_OFFER_BYTES)]


class CallAnswer(Told):
    """The answer of the room."""

    sdp: str


class CallDesk:
    """The operations on calls.

    Args:
        rooms: the rooms.
        door: tells who asks.
    """

    def __init__(self, rooms: RoomBook, door: Door) -> None:
        self._rooms = rooms
        self._door = door

    def operations(self) -> tuple[Operation, ...]:
        """The table of them."""
        return (
            Operation("GET", f"{API}/call", "callTerms", "Say how to call.", self._terms, told=CallTerms),
            self._call(f"{API}/call", "callOwnRoom", "Call your own room over WebRTC."),
            self._call(f"{API}/rooms/{{room_id}}/call", "callRoom", "Call a room over WebRTC.", 404),
        )

    def _call(self, path: str, name: str, summary: str, *refusals: int) -> Operation:
        return Operation(
            "POST",
            path,
            name,
            summary,
            self._answer,
            body=CallOffer,
            told=CallAnswer,
            refusals=(501, *refusals),
            most_bytes=BODY_BYTES,
        )

    async def _terms(self, request: Request, _: None) -> CallTerms:
        self._who(request)
        calls = self._rooms.calls
        return CallTerms(
            ice_servers=[IceServer.model_validate(server) for server in calls.ice.for_page()],
            connect_ms=round(1000 * calls.connect_s),
        )

    async def _answer(self, request: Request, offer: CallOffer) -> CallAnswer:
        room = self._room(request, self._who(request))
        address = None if request.client is None else request.client.host
        arrived = request.scope.get("server")
        door = None if arrived is None else arrived[0]
        return CallAnswer(sdp=await self._rooms.calls.answer(offer.sdp, room.serve, address, door))

    def _room(self, request: Request, visitor: Visitor) -> BrowserRoom:
        room_id = request.path_params.get("room_id")
        if room_id is None:
            return self._rooms.own(visitor.client, visitor.name).room
        return usable(self._rooms, room_id, visitor).room

    def _who(self, request: Request) -> Visitor:
        visitor = self._door.visitor(request)
        if visitor is None:
            raise GloveError("ERR_UNAUTHORISED", "The token is missing or not valid.")
        return visitor
