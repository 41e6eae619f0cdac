"""``glove notify``: have the running appliance say something."""

from __future__ import annotations

from typing import Annotated

import typer


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(notify)
    return command


def notify(
    text: Annotated[str, typer.Argument(help="What to say.")],
    urgent: Annotated[bool, typer.Option("--urgent", help="Do not wait for a polite moment.")] = False,
) -> int:
    """Have the running appliance say TEXT in the room last used, at a moment when it disturbs nobody."""
    from appliance.daemon.control import ask

    answer = ask({"do": "notify", "text": text, "urgent": urgent})
    waits = (
        "There is no room to speak in. It will be spoken as soon as there is one, unless the appliance stops before."
    )
    print("It will be spoken." if answer["room"] else waits)  # noqa: T201
    return 0
