"""``glove ptt``: the button of a push-to-talk microphone, for keyboards, pedals and scripts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Action = Literal["down", "up", "toggle", "cancel"]


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(ptt)
    return command


def ptt(action: Annotated[Action, typer.Argument(help="down, up, toggle, or cancel to drop what was said.")]) -> int:
    """Hold down or release the talk button of the device's microphone."""
    from appliance.daemon.control import ask

    print(ask({"do": "ptt", "action": action})["ptt"])  # noqa: T201
    return 0
