"""``glove run``: listen and speak until somebody stops it."""

from __future__ import annotations

import typer

from appliance.commands.options import ConfigOption, settings


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(run)
    return command


def run(ctx: typer.Context, config: ConfigOption = None) -> int:
    """Listen on this machine's microphone and serve the page, until Ctrl-C or SIGTERM.

    Without a sound card the page works alone, and the other way round; a microphone that appears later is used.
    """
    loaded = settings(ctx, config)

    from appliance.daemon.service import serve

    return serve(loaded.config)
