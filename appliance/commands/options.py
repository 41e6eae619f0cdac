"""Options that every command shares, and how they become a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from appliance.config.file import Loaded

LogLevel = Literal["debug", "info", "warning", "error"]

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration file instead of the one found.")
]


@dataclass(frozen=True)
class Globals:
    """What stood before the command's name."""

    config: Path | None = None
    log_level: LogLevel | None = None


def settings(ctx: typer.Context, config: Path | None = None) -> Loaded:
    """Load the configuration and set up logging by it.

    Args:
        ctx: the command's context; carries the ``Globals``.
        config: the command's own ``--config``, which wins over the global one.

    Raises:
        ConfigError: see ``appliance.config.file.load``.
    """
    from appliance.config import file as configfile
    from appliance.measured import logs

    given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
    loaded = configfile.load(config or given.config)
    logs.configure(given.log_level or loaded.config.log.level, loaded.config.log.format)
    return loaded
