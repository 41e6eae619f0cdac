"""``glove config``: what is in force, where each value came from, and whether it is valid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.commands.options import ConfigOption, Globals

if TYPE_CHECKING:
    from appliance.config.file import Loaded


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(help="Show or check the configuration in force.", add_completion=False)
    group.command("show")(show)
    group.command("check")(check)
    return group


def show(
    ctx: typer.Context,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Print every key with its value and where the value came from. Secrets are named, never shown."""
    from appliance.commands.options import settings
    from appliance.measured.metrics import metrics_secrets
    from appliance.session.mind import AUTO_PROVIDER, model_secrets
    from appliance.session.realtime_engine import engine_secrets
    from appliance.session.services import speech_secrets
    from appliance.web.relay import relay_secrets

    loaded = settings(ctx, config)
    settled = loaded.config
    used = (
        *speech_secrets(settled),
        *engine_secrets(settled),
        *relay_secrets(settled),
        *metrics_secrets(settled),
    )
    names = (*model_secrets(AUTO_PROVIDER, settled.model.provider), *used)
    secrets = {name: secret_state(name) for name in dict.fromkeys(names)}
    if as_json:
        values = {key: {"value": value, "origin": origin} for key, value, origin in loaded.rows()}
        print(json.dumps({"values": values, "secrets": secrets}, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        _print_page(loaded, secrets)
    return 0


def check(ctx: typer.Context, config: ConfigOption = None) -> int:
    """Check the configuration and print every problem; exits with 2 if there is one."""
    from appliance.commands import exits
    from appliance.config import file as configfile

    given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
    named = config or given.config
    problems = configfile.check(named)
    for problem in problems:
        exits.say_error(str(problem))
    if problems:
        return exits.BAD_INPUT
    file = configfile.find(named)
    print(f"The configuration is valid ({file or 'defaults, no file'}).")  # noqa: T201
    return exits.OK


def secret_state(name: str) -> str:
    """Whether a secret is set, and where, without its value."""
    from agents.base.credentials import Credentials

    return "set" if Credentials().get(name) is not None else "not set"


def _print_page(loaded: Loaded, secrets: dict[str, str]) -> None:
    lines = [f"# file: {loaded.file or 'none found, defaults in force'}"]
    section = ""
    width = max(len(f"{key.partition('.')[2]} = {_literal(value)}") for key, value, _ in loaded.rows())
    width = min(width, 60)
    for key, value, origin in loaded.rows():
        if key.partition(".")[0] != section:
            section = key.partition(".")[0]
            lines += ["", f"[{section}]"]
        lines.append(f"{key.partition('.')[2]} = {_literal(value)}".ljust(width) + f"  # {origin}")
    lines += ["", "# secrets: " + ", ".join(f"{name} {state}" for name, state in secrets.items())]
    print("\n".join(lines))  # noqa: T201 - this is the command's output


def _literal(value: Any) -> str:
    """``value`` as TOML writes it (JSON's notation of these types is valid TOML)."""
    return json.dumps(value, ensure_ascii=False)
