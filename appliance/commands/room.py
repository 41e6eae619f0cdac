"""``glove room``: rooms of the configured LiveKit server."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import typer

from agents.base.errors import ConfigError, InputError
from appliance.commands.options import ConfigOption, settings

RoomName = Annotated[str, typer.Argument(help="Name of the room.")]


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(
        help="Make, list and enter rooms of the LiveKit server in livekit.url.",
        add_completion=False,
        no_args_is_help=True,
    )
    group.command("create")(create)
    group.command("token")(token)
    group.command("list")(list_rooms)
    group.command("join")(join)
    group.command("leave")(leave)
    return group


def create(
    ctx: typer.Context,
    name: RoomName,
    empty_s: Annotated[int, typer.Option(min=1, max=86_400, help="Seconds that it stays while nobody is there.")] = 300,
    most: Annotated[int, typer.Option(min=0, max=1000, help="Participants at the same time; 0 for any number.")] = 0,
    config: ConfigOption = None,
) -> int:
    """Make a room, or find the one of that name; prints its name.

    With livekit.dispatch = "agent" and a livekit.agent_name the agent is called into it.
    """
    from livekit.protocol.agent_dispatch import RoomAgentDispatch
    from livekit.protocol.room import CreateRoomRequest

    from appliance.livekit.access import asking, livekit_access

    loaded = settings(ctx, config).config
    wanted = loaded.livekit

    async def made() -> str:
        async with asking(livekit_access(loaded)) as server:
            request = CreateRoomRequest(name=name, empty_timeout=empty_s, max_participants=most)
            if wanted.dispatch == "agent" and wanted.agent_name:
                request.agents.append(RoomAgentDispatch(agent_name=wanted.agent_name))
            return (await server.room.create_room(request)).name

    print(asyncio.run(made()))  # noqa: T201
    return 0


def token(
    ctx: typer.Context,
    room: RoomName,
    identity: Annotated[str, typer.Option(help="Who enters; unique in the room.")],
    name: Annotated[str, typer.Option(help="Shown to people; the identity when empty.")] = "",
    minutes: Annotated[int, typer.Option(min=1, max=1440, help="How long the token lets in.")] = 60,
    config: ConfigOption = None,
) -> int:
    """Print a token that lets somebody into a room, to speak, listen and write there, and nothing else."""
    from appliance.livekit.access import livekit_access
    from realtime.livekit.tokens import mint_participant_token

    access = livekit_access(settings(ctx, config).config)
    minted = mint_participant_token(access, room=room, identity=identity, name=name, ttl_s=60 * minutes)
    print(minted.reveal())  # noqa: T201 - this is what was asked for
    return 0


def list_rooms(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
    config: ConfigOption = None,
) -> int:
    """List the rooms of the server, and how many are in them."""
    from livekit.protocol.room import ListRoomsRequest

    from appliance.livekit.access import asking, livekit_access

    loaded = settings(ctx, config).config

    async def found() -> list[dict[str, str | int]]:
        async with asking(livekit_access(loaded)) as server:
            rooms = (await server.room.list_rooms(ListRoomsRequest())).rooms
        return [{"name": room.name, "id": room.sid, "participants": room.num_participants} for room in rooms]

    rooms = asyncio.run(found())
    if as_json:
        print(json.dumps(rooms, ensure_ascii=False, indent=2))  # noqa: T201
        return 0
    for room in rooms:
        print(f"{room['name']}: {room['participants']} there")  # noqa: T201
    return 0


def join(room: RoomName) -> int:
    """Have the running appliance's agent join a room."""
    _ask_agent("livekit_join", room)
    print(f"The agent joins {room}.")  # noqa: T201
    return 0


def leave(room: RoomName) -> int:
    """Have the running appliance's agent leave a room."""
    left = _ask_agent("livekit_leave", room)["left"]
    print(f"The agent leaves {room}." if left else "The agent was not there.")  # noqa: T201
    return 0


def _ask_agent(do: str, room: str) -> dict[str, Any]:
    """What the running appliance answers to ``do``.

    Raises:
        ConfigError: ``ERR_LIVEKIT_URL``, it was started without a LiveKit server and so does not know the request.
    """
    from appliance.daemon.control import ask

    try:
        return ask({"do": do, "room": room})
    except InputError as fault:
        if fault.code != "ERR_CONTROL_REQUEST" or not room:
            raise
        raise ConfigError(
            "ERR_LIVEKIT_URL",
            "The running appliance knows no LiveKit server.",
            "Set livekit.url and livekit.key in glove.toml, and start it again.",
            fault,
        ) from fault
