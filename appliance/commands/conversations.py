"""``glove conversations``: the conversations that were kept, and what was said in one."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from agents.base.errors import InputError
from appliance.commands.options import ConfigOption, settings


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(conversations)
    return command


def conversations(
    ctx: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Its beginning suffices, with or without conversation_.")
    ] = None,
    config: ConfigOption = None,
) -> int:
    """List the conversations, last used first; with ID print what was said in that one."""
    from appliance.session.mind import store_path

    path = store_path(settings(ctx, config).config)
    if path is None or not path.exists():
        if conversation is not None:
            raise InputError("ERR_CONVERSATION", "No conversation is kept yet.")
        print("No conversation is kept yet.")  # noqa: T201
        return 0
    from appliance.commands.transcripts import listed, transcript

    lines = asyncio.run(listed(path) if conversation is None else transcript(path, conversation))
    print("\n".join(lines))  # noqa: T201
    return 0
