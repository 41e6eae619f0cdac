"""The page as a room of the daemon."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.session.build import Session

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from appliance.daemon.daemon import Daemon
    from audio.io.base import AudioIO

PAGE = "page"
"""Name of the room behind the page."""


async def run_page(daemon: Daemon) -> None:
    """Serve the page until cancelled.

    Raises:
        ConfigError: the port cannot be had; the daemon tries again.
    """
    from agents.base.credentials import Secret
    from agents.base.errors import ConfigError
    from agents.web.chat_handler import ChatHandler
    from appliance.lan.api import at_the_machine
    from appliance.lan.page import conversations_in, local_network, rooms_elsewhere, served
    from appliance.web.api import local_app, serve
    from appliance.web.auth import Access, new_token
    from appliance.web.metrics_route import collectors, metrics_route
    from appliance.web.relay import ice_servers
    from appliance.web.room_book import RoomBook

    async def open_session(name: str, room: AudioIO) -> Session:
        session = await daemon.parts.session(room, name=name)
        daemon.rooms.enter(name, session)
        return session

    page = daemon.config.page
    # One token for the whole process: a server that had to be started again keeps its callers.
    token = daemon.secrets.setdefault(PAGE, Secret(new_token()))
    chat = ChatHandler(lambda: daemon.parts.mind.model) if daemon.config.web.chat else None
    rooms = RoomBook(open_session, ice=ice_servers(daemon.config))
    access = Access(token.reveal(), [page.host, *page.hosts])
    common: dict[str, Any] = {"chat": chat, "conversation": conversations_in(daemon)}
    lan = local_network(daemon, rooms, **common)
    try:
        collecting = [metrics_route(daemon.metrics, collectors(access))] if daemon.config.metrics.enabled else []
        app = local_app(
            rooms,
            access,
            closing=rooms.close,
            operations=at_the_machine(lan),
            pages={"/devices": "devices.html"},
            elsewhere=rooms_elsewhere(daemon, rooms),
            beside=[*collecting, *_webhooks(daemon)],
            **common,
        )
        server = await serve(app, page.host, page.port)
    except ConfigError as fault:
        daemon.tell(PAGE, f"Page: off. {fault}")
        raise
    rooms.start()
    address = server.address(token.reveal())
    daemon.facts[PAGE] = address
    daemon.tell(PAGE, f"Page: {address if not _is_logged() else f'http://{page.host}:{page.port}/ (glove status)'}")
    try:
        async with served(daemon, lan, rooms, access):
            await asyncio.Event().wait()
    finally:
        daemon.facts.pop(PAGE, None)
        await server.close()


def _webhooks(daemon: Daemon) -> Sequence[BaseRoute]:
    if daemon.config.livekit.dispatch != "webhook":
        return ()
    from appliance.livekit.feature import webhook_routes

    return webhook_routes(daemon)


def _is_logged() -> bool:
    """Whether standard output goes to the journal, which is no place for a token."""
    return bool(os.environ.get("JOURNAL_STREAM") or os.environ.get("NOTIFY_SOCKET"))
