"""The command line proper: global options, and commands that are imported when they are called."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from agents.base.errors import InputError
from appliance.commands import exits
from appliance.commands import table as commands
from appliance.commands.options import ConfigOption, Globals, LogLevel


class LazyGroup(TyperGroup):
    """Finds commands in ``appliance.commands.table`` and imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        return [entry.name for entry in commands.COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and build one command. Raises ``InputError`` for a name that does not exist."""
        entry = commands.find(cmd_name)
        if entry is None:
            near = difflib.get_close_matches(cmd_name, self.list_commands(ctx), n=1)
            raise InputError(
                "ERR_USAGE",
                f"There is no command {cmd_name!r}.",
                f"Did you mean {near[0]}?" if near else "glove --help lists the commands.",
            )
        command = typer.main.get_command(importlib.import_module(entry.module).app())
        command.name = entry.name
        command.short_help = entry.summary
        return command


def build() -> typer.Typer:
    """The application with its global options."""
    app = typer.Typer(cls=LazyGroup, name="glove", add_completion=False, pretty_exceptions_enable=False)

    @app.callback()
    def options(  # pyright: ignore[reportUnusedFunction] - typer keeps it
        ctx: typer.Context,
        config: ConfigOption = None,
        log_level: Annotated[LogLevel | None, typer.Option(help="Least severe message shown.")] = None,
    ) -> None:
        """A voice appliance: hears, takes turns, thinks and answers aloud, on this machine."""
        ctx.obj = Globals(config, log_level)

    return app


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Raises ``InputError`` for a command line that makes no sense."""
    command = typer.main.get_command(build())
    try:
        code = cast(object, command.main(list(arguments), prog_name="glove", standalone_mode=False))
    except typer.Abort:
        return exits.INTERRUPTED
    except typer.TyperException as fault:
        raise InputError("ERR_USAGE", _sentence(fault.format_message()), _usage_remedy(fault), fault) from fault
    return code if isinstance(code, int) else exits.OK


def _sentence(message: str) -> str:
    """What typer says, without the name that its validator gives to faults, and ended by a full stop."""
    line = " ".join(message.replace("Value error, ", "").split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _usage_remedy(fault: typer.TyperException) -> str:
    place = getattr(fault, "ctx", None)
    return f"See {place.command_path if place else 'glove'} --help."
