"""``glove serve-realtime``: this machine as a provider of OpenAI's Realtime protocol, until somebody stops it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from agents.base.errors import ConfigError
from appliance.commands.options import ConfigOption, settings

if TYPE_CHECKING:
    from agents.base.credentials import Credentials
    from appliance.config.places import ServeConfig
    from appliance.config.schema import GloveConfig
    from appliance.session.build import Parts

SECRET = "serve_token"

SHORTEST = 16
"""Characters that a token has at least."""

MESSAGE_BYTES = 4 << 20
"""Longest message: a minute of sound."""


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(serve_realtime)
    return command


def serve_realtime(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Instead of serve.host.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Instead of serve.port; 0 takes a free one.")
    ] = None,
    config: ConfigOption = None,
) -> int:
    """Serve clients of OpenAI's Realtime protocol, until Ctrl-C or SIGTERM.

    Whatever speaks that protocol can talk to this machine as if it were
    OpenAI: it hears, thinks and speaks here. Without the secret
    serve_token only programs of this machine are let in, without a key.
    """
    loaded = settings(ctx, config)
    changes = {"host": host, "port": port}
    wanted = loaded.config.serve.model_copy(update={name: one for name, one in changes.items() if one is not None})
    asyncio.run(_serve(loaded.config.model_copy(update={"serve": wanted})))
    return 0


def token_of(serve: ServeConfig, credentials: Credentials | None = None) -> str | None:
    """The key that clients need, or None where programs of this machine need none.

    Raises:
        ConfigError: ``ERR_SERVE_TOKEN``: it is too short, or missing where others can connect. ``ERR_CREDENTIALS_…``:
            it cannot be read.
    """
    from agents.base.credentials import Credentials
    from agents.models.openai_compatible import is_loopback

    secret = (credentials or Credentials()).get(SECRET)
    if secret is None:
        if is_loopback(f"ws://[{serve.host}]" if ":" in serve.host else f"ws://{serve.host}"):
            return None
        raise ConfigError(
            "ERR_SERVE_TOKEN",
            f"Everybody who reaches {serve.host} could use this machine.",
            f"Set the secret {SECRET}, or serve.host to 127.0.0.1.",
        )
    if len(secret.reveal()) < SHORTEST:
        raise ConfigError(
            "ERR_SERVE_TOKEN", f"The secret {SECRET} is too short.", f"Give it at least {SHORTEST} characters."
        )
    return secret.reveal()


@asynccontextmanager
async def serving(parts: Parts, serve: ServeConfig, token: str | None = None) -> AsyncGenerator[int]:
    """Serve clients with ``parts`` while the context is open; gives the port.

    Raises:
        ConfigError: ``ERR_SERVE_PORT``: the address cannot be listened on. ``ERR_SERVE_STT``.
    """
    from appliance.session.serve_engine import engine_of
    from appliance.web import server
    from realtime.serving.app import RealtimeServer
    from realtime.serving.limits import Limits

    limits = Limits(session_s=serve.session_min * 60.0)
    realtime = RealtimeServer(engine_of(parts), token, most_sessions=serve.sessions, limits=limits)
    try:
        listening = await server.serve(realtime.app(), serve.host, serve.port, message_bytes=MESSAGE_BYTES)
    except ConfigError as fault:
        raise ConfigError(
            "ERR_SERVE_PORT",
            f"serve.port: {serve.host}:{serve.port} cannot be listened on.",
            "End the program that listens there, or choose another address.",
            fault.cause,
        ) from fault
    try:
        yield listening.port
    finally:
        await listening.close()


async def _serve(config: GloveConfig) -> None:
    from appliance.daemon.service import say
    from appliance.session.build import load_parts

    token = token_of(config.serve)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    say("loading")
    # Nothing here can ring: what a timer would wake is a client that may be gone.
    parts = await load_parts(config, lasting_timers=False)
    try:
        async with serving(parts, config.serve, token) as port:
            host = f"[{config.serve.host}]" if ":" in config.serve.host else config.serve.host
            say(f"Realtime: ws://{host}:{port}/v1/realtime, {'with' if token else 'without'} a key")
            await stopping.wait()
    finally:
        await parts.close()
    say("stopped")
