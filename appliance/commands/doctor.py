"""``glove doctor``: what the appliance needs on this machine, and what is missing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from appliance.commands.options import ConfigOption, settings

WARNINGS = 3
"""Exit code when everything works with restrictions."""


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(doctor)
    return command


def doctor(
    ctx: typer.Context,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Check sound devices, weights, store, disk, port, model, speech services, engine, runtime folder and clock.

    Exits with 0 when all is well, 3 when something works with restrictions, 1 when something does not work.
    """
    from appliance.commands.checks import examine

    findings = examine(settings(ctx, config).config)
    states = {finding.state for finding in findings}
    worst = "fault" if "fault" in states else "warning" if "warning" in states else "ok"
    if as_json:
        report = {"state": worst, "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(report, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        for finding in findings:
            remedy = f" {finding.remedy}" if finding.remedy else ""
            print(f"{finding.state:<8}{finding.name:<9}{finding.message}{remedy}")  # noqa: T201
    return {"ok": 0, "warning": WARNINGS, "fault": 1}[worst]
