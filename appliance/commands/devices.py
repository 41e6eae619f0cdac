"""``glove devices``: the microphones and speakers of this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from appliance.commands.options import ConfigOption, settings


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(devices)
    return command


def devices(
    ctx: typer.Context,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """List the sound devices; > marks those that the configuration in force would use."""
    from audio.io.inventory import choose_device, list_devices

    loaded = settings(ctx, config)
    found = list_devices()
    microphone = choose_device(found, loaded.config.device.input, "input")
    speaker = choose_device(found, loaded.config.device.output, "output")
    rows = [
        {
            "id": device.id,
            "inputs": device.channels("input"),
            "outputs": device.channels("output"),
            "microphone": device == microphone,
            "speaker": device == speaker,
        }
        for device in found
    ]
    if as_json:
        print(json.dumps({"devices": rows}, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    if not rows:
        print("There is no sound device. Connect one; glove run picks it up when it appears.")  # noqa: T201
        return 0
    for row in rows:
        used = "".join((">mic " if row["microphone"] else "", ">speaker " if row["speaker"] else ""))
        print(f"{used:<14}{row['id']}  (in {row['inputs']}, out {row['outputs']})")  # noqa: T201
    return 0
