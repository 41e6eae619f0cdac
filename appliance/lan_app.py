"""What paired devices, and devices that want to be, find on the local network."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agents.base.errors import GloveError
from appliance.api import page_app
from appliance.lan import Lan
from appliance.lan_api import certificate, on_the_network
from appliance.operations import refused
from appliance.room_book import RoomBook

PAGES = {"/pair": "pair.html"}

CERTIFICATE_TYPE = "application/x-x509-ca-cert"
"""Phones that receive this offer to install it."""


def lan_app(lan: Lan, rooms: RoomBook, **options: Any) -> Starlette:
    """The application behind ``lan.door``; ``options`` are those of ``appliance.api.page_app``."""

    async def authority(_: Request) -> Response:
        try:
            content = await certificate(lan)
        except GloveError as fault:
            return refused(fault)
        name = {"content-disposition": 'attachment; filename="glove-authority.crt"'}
        return Response(content, media_type=CERTIFICATE_TYPE, headers=name)

    return page_app(
        rooms,
        lan.door,
        closing=_nothing,
        operations=on_the_network(lan),
        pages=PAGES,
        first=[Route("/authority.crt", authority)],
        **options,
    )


async def _nothing() -> None:
    """The rooms belong to the server of this machine, and outlive this one."""
