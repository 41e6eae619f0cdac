"""What paired devices, and devices that want to be, find on the local network."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agents.base.errors import GloveError
from appliance.lan.api import certificate, on_the_network
from appliance.lan.network import Lan
from appliance.web.api import page_app
from appliance.web.operations import refused
from appliance.web.room_book import RoomBook

PAGES = {"/pair": "pair.html"}

CERTIFICATE_TYPE = "application/x-x509-ca-cert"
"""Phones that receive this offer to install it."""


def lan_app(lan: Lan, rooms: RoomBook, **options: Any) -> Starlette:
    """The application behind ``lan.door``; ``options`` are those of ``appliance.web.api.page_app``."""

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
