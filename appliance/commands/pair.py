"""``glove pair``: let a phone in the house talk to the running appliance."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(
        help="Let a phone or laptop in the house talk to the running appliance.",
        add_completion=False,
        invoke_without_command=True,
    )
    group.callback()(pair)
    group.command("list")(list_devices)
    group.command("revoke")(revoke)
    group.command("off")(off)
    return group


def pair(
    ctx: typer.Context,
    address: Annotated[bool, typer.Option("--address", help="Use the address instead of the name.")] = False,
    as_json: AsJson = False,
) -> int:
    """Serve the local network from now on, and show a code that pairs one device.

    The code works once, and for five minutes. list shows who is paired, revoke ends that, off serves nobody any more.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    from appliance.web.page_control import ask_page

    invitation: dict[str, Any] = ask_page({"do": "pair"})["invitation"]
    if as_json:
        print(json.dumps(invitation, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    import segno

    url = str(invitation["by_address" if address else "address"])
    print(f"Scan this with the phone. It works once, for {invitation['valid_s'] / 60:.0f} minutes.\n")  # noqa: T201
    segno.make(url, error="l").terminal(out=sys.stdout, border=2, compact=True)
    print("\n".join(explained(invitation, url)))  # noqa: T201
    return 0


def explained(invitation: dict[str, Any], url: str) -> list[str]:
    """What stands below the code."""
    other = str(invitation["address" if url == invitation["by_address"] else "by_address"])
    lines = [f"\nOr open {url}"]
    if other != url:
        lines.append(f"     or {other}")
    return [
        *lines,
        "",
        "The browser warns, because nobody it knows vouches for this machine. Compare the SHA-256 fingerprint",
        "that it shows with the first of these; the second belongs to the authority that the page offers to install:",
        f"  certificate  {invitation['server']}",
        f"  authority    {invitation['authority']}",
    ]


def list_devices(as_json: AsJson = False) -> int:
    """Show the paired devices."""
    from appliance.web.page_control import ask_page

    devices: list[dict[str, Any]] = ask_page({"do": "devices"})["devices"]
    if as_json:
        print(json.dumps(devices, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    for device in devices:
        print(f"{device['id']}  {device['name']}, paired {device['paired'][:10]}")  # noqa: T201
    if not devices:
        print("No device is paired.")  # noqa: T201
    return 0


def revoke(device: Annotated[str, typer.Argument(help="Id, as glove pair list shows it.")]) -> int:
    """End the session of a device, and what it is doing."""
    from appliance.web.page_control import ask_page

    print(f"{ask_page({'do': 'revoke', 'device': device})['name']} is not paired any more.")  # noqa: T201
    return 0


def off() -> int:
    """Serve nobody beyond this machine. Devices stay paired for the next time."""
    from appliance.web.page_control import ask_page

    ask_page({"do": "lan_off"})
    print("Nothing beyond this machine is served any more.")  # noqa: T201
    return 0
