"""The page's part that belongs to the daemon: its rooms in the list, the local network, the commands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agents.base.backoff import Backoff
from agents.base.errors import GloveError
from agents.base.scope import Scope
from appliance.daemon.rooms import DEVICE
from appliance.lan.network import Lan, LanPlace, lan_folder
from appliance.web.auth import Access, LoopbackDoor
from appliance.web.page_control import PageControl
from appliance.web.room_api import ConversationIn, Elsewhere, RoomDesk, RoomTold
from appliance.web.room_book import RoomBook

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from appliance.daemon.daemon import Daemon

FACT = "lan"
"""Under which name ``glove status`` finds the addresses."""


def rooms_elsewhere(daemon: Daemon, rooms: RoomBook) -> Elsewhere:
    """The rooms that are not the page's: this machine's own microphone first, whether or not it works now."""

    def told() -> Sequence[RoomTold]:
        own = {entry.id for entry in rooms.open}
        living = {entry.name: entry.session for entry in daemon.rooms.living if entry.name not in own}
        names = [*([DEVICE] if daemon.config.device.enabled else []), *(name for name in living if name != DEVICE)]
        return [
            RoomTold(
                id=name,
                kind="device" if name == DEVICE else "other",
                title="This machine" if name == DEVICE else name,
                state="called" if name in living else "empty",
                health=living[name].room.health.state if name in living else "down",
                conversation=living[name].agent.conversation_id if name in living else None,
            )
            for name in names
        ]

    return told


def conversations_in(daemon: Daemon) -> ConversationIn:
    """Which conversation goes on in a room."""

    def told(name: str) -> str | None:
        session = daemon.rooms.find(name)
        return session.agent.conversation_id if session is not None else None

    return told


def local_network(daemon: Daemon, rooms: RoomBook, **options: Any) -> Lan:
    """The local network of the daemon, switched off. ``options`` are those of ``appliance.web.api.page_app``."""
    from appliance.lan.app import lan_app

    page = daemon.config.page

    def app(lan: Lan) -> Starlette:
        return lan_app(lan, rooms, **options)

    place = LanPlace(lan_folder(daemon.config), page.lan_port, page.name, page.hosts)
    lan = Lan(place, app)
    lan.on_revoked = rooms.end_all_of
    return lan


@asynccontextmanager
async def served(daemon: Daemon, lan: Lan, rooms: RoomBook, access: Access) -> AsyncGenerator[None]:
    """Answer commands, and serve the local network if that is configured, until the block ends."""
    desk = RoomDesk(rooms, LoopbackDoor(access), rooms_elsewhere(daemon, rooms), conversations_in(daemon))
    handlers = PageControl(lan, rooms, desk).handlers()
    scope = Scope("page")

    def changed() -> None:
        daemon.facts[FACT] = list(lan.addresses)
        daemon.tell(FACT, f"Local network: {' '.join(lan.addresses) or lan.state.value}")

    async def turn_on() -> None:
        try:
            await lan.turn_on()
        except GloveError as fault:
            daemon.tell(FACT, f"Local network: off. {fault}")
            raise

    lan.on_change = changed
    daemon.handlers.update(handlers)
    if daemon.config.page.lan:
        scope.supervise(turn_on, "local network", Backoff(1.0, 60.0))
    try:
        yield
    finally:
        for name in handlers:
            daemon.handlers.pop(name, None)
        await scope.close()
        await lan.close()
        daemon.facts.pop(FACT, None)
