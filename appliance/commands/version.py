"""``glove version``: which version this is."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

DISTRIBUTION = "glove-appliance"


def installed_version() -> str:
    """The version of the installed distribution, or ``unknown (not installed)`` when run from a bare folder."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown (not installed)"


def print_version() -> int:
    """Print the version."""
    print(f"glove {installed_version()}")  # noqa: T201 - this is the command's output
    return 0


def app() -> typer.Typer:
    """The command."""
    import typer

    command = typer.Typer(add_completion=False)
    command.command()(print_version)
    return command
