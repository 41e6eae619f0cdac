"""What the commands ask of the page through the control socket: pairing, certificates, rooms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.base.errors import GloveError, InputError
from appliance.daemon.control import Handler, ask
from appliance.lan.api import invitation, listed
from appliance.lan.network import Lan
from appliance.web.room_api import RoomDesk
from appliance.web.room_book import RoomBook

PATIENCE_S = 30.0
"""How long a command waits: neighbours are asked whether a name is free, and told about it."""


class PageControl:
    """Handlers for the control socket.

    Args:
        lan: the local network.
        rooms: the rooms.
        desk: lists them.
    """

    def __init__(self, lan: Lan, rooms: RoomBook, desk: RoomDesk) -> None:
        self._lan = lan
        self._rooms = rooms
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """By the request's ``do``."""
        return {
            "pair": self._pair,
            "devices": self._devices,
            "revoke": self._revoke,
            "lan_off": self._lan_off,
            "certificate": self._certificate,
            "rooms": self._list_rooms,
            "room_open": self._open_room,
            "room_leave": self._leave_room,
            "room_end": self._end_room,
        }

    async def _pair(self, _: Mapping[str, Any]) -> dict[str, Any]:
        await self._lan.turn_on()
        return {"invitation": invitation(self._lan.invite()).model_dump()}

    async def _devices(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"devices": [device.model_dump(mode="json") for device in listed(self._lan)]}

    async def _revoke(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": await self._lan.revoke(_text(request, "device"))}

    async def _lan_off(self, _: Mapping[str, Any]) -> dict[str, Any]:
        await self._lan.turn_off()
        return {}

    async def _certificate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        await self._lan.renew(authority=request.get("authority") is True)
        return {}

    async def _list_rooms(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"rooms": [room.model_dump(mode="json") for room in self._desk.all()]}

    async def _open_room(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"room": self._rooms.create(self._rooms.page.client, _text(request, "title", "")[:80]).id}

    async def _leave_room(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"left": await self._rooms.leave(_text(request, "room"))}

    async def _end_room(self, request: Mapping[str, Any]) -> dict[str, Any]:
        await self._rooms.end(_text(request, "room"))
        return {}


def ask_page(request: Mapping[str, Any]) -> dict[str, Any]:
    """``appliance.daemon.control.ask``, for requests that the page answers.

    Raises:
        GloveError: as ``ask``; ``ERR_PAGE_OFF`` when the appliance runs without its page, or is not that far yet.
    """
    try:
        return ask(request, timeout_s=PATIENCE_S)
    except InputError as fault:
        if fault.code != "ERR_CONTROL_REQUEST":
            raise
        raise GloveError(
            "ERR_PAGE_OFF",
            "The page of the running appliance is off, or not there yet.",
            "Set page.enabled to true; if it has only just been started, try again.",
            fault,
        ) from fault


def _text(request: Mapping[str, Any], key: str, otherwise: str | None = None) -> str:
    value = request.get(key, otherwise)
    if not isinstance(value, str):
        raise InputError("ERR_CONTROL_REQUEST", f"The request needs a {key}.")
    return value
