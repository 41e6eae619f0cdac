"""``glove rooms``: the rooms of the running appliance."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

RoomId = Annotated[str, typer.Argument(help="Id, as glove rooms shows it.")]


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(
        help="Show the rooms; open, leave or end one.", add_completion=False, invoke_without_command=True
    )
    group.callback()(rooms)
    group.command("open")(open_room)
    group.command("leave")(leave)
    group.command("end")(end)
    return group


def rooms(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False
) -> int:
    """Show which rooms there are, whether somebody is in them, and which conversation goes on there."""
    if ctx.invoked_subcommand is not None:
        return 0
    from appliance.web.page_control import ask_page

    found: list[dict[str, Any]] = ask_page({"do": "rooms"})["rooms"]
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    for room in found:
        conversation = room["conversation"] or "no conversation"
        print(f"{room['id']}: {room['title']}, {room['state']}, {room['health']}, {conversation}")  # noqa: T201
    return 0


def open_room(title: Annotated[str, typer.Option(help="What people call it.")] = "") -> int:
    """Open another room for programs on this machine; prints its id."""
    from appliance.web.page_control import ask_page

    print(ask_page({"do": "room_open", "title": title})["room"])  # noqa: T201
    return 0


def leave(room: RoomId) -> int:
    """Hang up on whoever is in a room; the conversation waits for a return."""
    from appliance.web.page_control import ask_page

    left = ask_page({"do": "room_leave", "room": room})["left"]
    print("The caller was sent out." if left else "Nobody was in it.")  # noqa: T201
    return 0


def end(room: RoomId) -> int:
    """End a room."""
    from appliance.web.page_control import ask_page

    ask_page({"do": "room_end", "room": room})
    print(f"Room {room} has ended.")  # noqa: T201
    return 0
