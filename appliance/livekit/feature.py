"""LiveKit rooms as a feature of the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from agents.base.backoff import Backoff
from agents.base.errors import GloveError, InputError
from agents.base.scope import Scope
from appliance.livekit.access import livekit_access
from appliance.livekit.dispatch import Dispatcher, WorkerIdentity
from appliance.livekit.stays import Stays
from appliance.livekit.webhook import RoomNews, webhook_route
from realtime.livekit.tokens import LiveKitAccess, mint_participant_token
from realtime.livekit.transport import LiveKitTransport, TransportSettings

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from agents.base.credentials import Secret
    from appliance.daemon.daemon import Daemon
    from appliance.session.build import Session
    from audio.io.base import AudioIO

log = structlog.get_logger(__name__)

LIVEKIT = "livekit"
"""Prefix of the names of such rooms, and the fact's name in ``glove status``."""

TOKEN_S = 300.0
"""A token of the agent's own lets it in once, at once."""


async def run_livekit(daemon: Daemon) -> None:
    """Be in the configured room, and go where the agent is called, until cancelled.

    Raises:
        ConfigError: the secret is missing or can be guessed; the daemon tries again.
    """
    from appliance.commands.version import installed_version

    config = daemon.config.livekit
    access = livekit_access(daemon.config)

    async def make_session(room: str, sound: AudioIO) -> Session:
        name = f"{LIVEKIT}:{room}"
        session = await daemon.parts.session(sound, name=name)
        daemon.rooms.enter(name, session)
        return session

    stays = Stays(
        lambda room: _transport(daemon, access, room), make_session, most=config.most_rooms, idle_s=config.idle_s
    )
    scope = Scope(LIVEKIT)
    handlers = _handlers(stays)
    daemon.handlers.update(handlers)
    daemon.facts[LIVEKIT] = config.url
    daemon.tell(LIVEKIT, f"LiveKit: {config.url}")
    try:
        if config.room:
            scope.supervise(lambda: _keep(stays, config.room), "room", Backoff(1.0, 30.0, recover_s=30.0))
        if config.dispatch == "agent":
            worker = WorkerIdentity(config.agent_name, config.identity, config.name, config.prefix, installed_version())
            dispatcher = Dispatcher(access, worker, stays)
            scope.supervise(dispatcher.run, "dispatch", Backoff(1.0, 15.0, recover_s=30.0))
        await asyncio.Event().wait()
    finally:
        for name in handlers:
            daemon.handlers.pop(name, None)
        daemon.facts.pop(LIVEKIT, None)
        await scope.close()
        await stays.close()


def webhook_routes(daemon: Daemon) -> Sequence[BaseRoute]:
    """What the page's server answers for a LiveKit server: nothing, unless that is configured.

    Raises:
        ConfigError: as ``run_livekit``.
    """
    config = daemon.config.livekit
    if not config.url or config.dispatch != "webhook":
        return ()

    async def on_news(news: RoomNews) -> None:
        if not news.room.startswith(config.prefix):
            return
        join = news.event == "room_started" or (news.event == "participant_joined" and news.by_person)
        wanted = "livekit_join" if join else "livekit_leave" if news.event == "room_finished" else None
        if wanted is None:
            return
        handler = daemon.handlers.get(wanted)
        if handler is None:
            raise GloveError("ERR_LIVEKIT_FULL", "The appliance is not ready for calls yet.")
        await handler({"room": news.room})

    return (webhook_route(livekit_access(daemon.config), on_news),)


def _transport(daemon: Daemon, access: LiveKitAccess, room: str) -> LiveKitTransport:
    config = daemon.config.livekit

    def token() -> Secret:
        return mint_participant_token(
            access, room=room, identity=config.identity, name=config.name, ttl_s=TOKEN_S, kind="agent"
        )

    return LiveKitTransport(access.socket_url, token, TransportSettings(speakers=config.speakers))


async def _keep(stays: Stays, room: str) -> None:
    """Be in ``room`` until that ends. Raises ``GloveError``, so that it is tried again; not if somebody took the
    agent's place there."""
    fault = await asyncio.shield(stays.join(room, kept=True).over)
    if fault is None or fault.code == "ERR_LIVEKIT_REPLACED":
        log.warning("the agent has left its room", room=room, code=None if fault is None else fault.code)
        return
    raise fault


def _handlers(stays: Stays) -> dict[str, Any]:
    async def join(request: Mapping[str, Any]) -> dict[str, Any]:
        stays.join(_room(request))
        return {"rooms": list(stays.rooms)}

    async def leave(request: Mapping[str, Any]) -> dict[str, Any]:
        return {"left": stays.leave(_room(request))}

    return {"livekit_join": join, "livekit_leave": leave}


def _room(request: Mapping[str, Any]) -> str:
    room = request.get("room")
    if not isinstance(room, str) or not room:
        raise InputError("ERR_CONTROL_REQUEST", "The request needs a room.")
    return room
