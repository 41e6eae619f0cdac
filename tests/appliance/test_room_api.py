"""Rooms over HTTP: opened, joined, left, ended, within limits; and the whole control API against its description."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agents.base.errors import GloveError
from appliance.lan.api import at_the_machine
from appliance.lan.app import lan_app
from appliance.lan.network import Lan, LanPlace
from appliance.web.api import local_app, serve
from appliance.web.auth import Access, new_token
from appliance.web.room_api import RoomTold
from appliance.web.room_book import RoomBook
from tests.appliance.network import HOST, Silent, network
from tests.realtime.peer import House, MemorySocket

TOKEN = new_token()
DEVICE = RoomTold(id="device", kind="device", title="This machine", state="called", health="ok", conversation="c-1")


class Here:
    """The machine itself, as a program on it sees it."""

    def __init__(self, rooms: RoomBook, lan: Lan, port: int, browser: httpx.AsyncClient) -> None:
        self.rooms = rooms
        self.lan = lan
        self.port = port
        self.browser = browser

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.browser.request(method, path, **options)

    async def create(self, title: str = "") -> str:
        answer = await self.ask("POST", "/api/rooms", json={"title": title})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def call(self, path: str) -> connect:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        return connect(f"ws://127.0.0.1:{self.port}{path}", additional_headers=bearer, max_size=None, proxy=None)


@asynccontextmanager
async def machine(folder: Path | None = None, **limits: Any) -> AsyncIterator[Here]:
    house = House(["Hello."] * 4)
    rooms = RoomBook(lambda _, sound: house.open(sound), **limits)
    place = LanPlace(folder, port=0, name=HOST, addresses=lambda: ("127.0.0.1",), announcer=Silent)
    lan = Lan(place, lambda lan: lan_app(lan, rooms))
    app = local_app(
        rooms,
        Access(TOKEN),
        closing=rooms.close,
        operations=at_the_machine(lan),
        elsewhere=lambda: [DEVICE],
        pages={"/devices": "devices.html"},
    )
    server = await serve(app, port=0)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    base = f"http://127.0.0.1:{server.port}"
    try:
        async with httpx.AsyncClient(base_url=base, headers=bearer, trust_env=False) as browser:
            yield Here(rooms, lan, server.port, browser)
    finally:
        await server.close()
        await lan.close()


async def first(call: Any) -> dict[str, Any]:
    async with asyncio.timeout(10):
        return json.loads(await call.recv())


@pytest.mark.realtime
async def test_a_room_is_opened_joined_left_and_ended_with_a_conversation_of_its_own() -> None:
    async with machine() as here:
        room = await here.create("  Workshop \n")
        way_in = (await here.ask("POST", f"/api/rooms/{room}/join")).json()
        async with here.call("/room") as page, here.call(way_in["socket"]) as call:
            sessions = {(await first(page))["sessionId"], (await first(call))["sessionId"]}
            assert len(sessions) == 2  # nobody replaced anybody
            told = (await here.ask("GET", f"/api/rooms/{room}")).json()
            assert (told["title"], told["state"], told["yours"]) == ("Workshop", "called", True)
            assert (await here.ask("POST", f"/api/rooms/{room}/leave")).json() == {"left": True}
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await call.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4001
        assert (await here.ask("GET", f"/api/rooms/{room}")).json()["state"] == "waiting"
        assert (await here.ask("POST", f"/api/rooms/{room}/leave")).json() == {"left": False}
        async with here.call(way_in["socket"]) as call:
            assert (await first(call))["sessionId"] in sessions  # the conversation went on
            assert (await here.ask("DELETE", f"/api/rooms/{room}")).status_code == 204
            with pytest.raises(ConnectionClosed):
                while True:
                    await call.recv()
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/join"), ("POST", "/leave")):
            gone = await here.ask(method, f"/api/rooms/{room}{path}")
            assert (gone.status_code, gone.json()["code"]) == (404, "ERR_ROOM_UNKNOWN")
        with pytest.raises(InvalidStatus):
            async with here.call(way_in["socket"]):
                pass


@pytest.mark.realtime
async def test_the_microphone_of_the_machine_is_one_of_the_rooms_and_cannot_be_entered_from_afar() -> None:
    async with machine() as here:
        rooms = (await here.ask("GET", "/api/rooms")).json()["rooms"]
        assert [(room["id"], room["kind"]) for room in rooms] == [("device", "device"), ("page", "page")]
        assert (await here.ask("GET", "/api/rooms/device")).json()["conversation"] == "c-1"
        for method, path in (("POST", "/join"), ("POST", "/leave"), ("DELETE", "")):
            answer = await here.ask(method, f"/api/rooms/device{path}")
            assert (answer.status_code, answer.json()["code"]) == (409, "ERR_ROOM_NO_DOOR")
        assert (await here.ask("DELETE", "/api/rooms/page")).json()["code"] == "ERR_ROOM_KEPT"


@pytest.mark.realtime
async def test_there_are_limits_for_each_and_for_all() -> None:
    async with machine(most_rooms=3, most_per_client=2) as here:
        rooms = [await here.create() for _ in range(2)]
        full = await here.ask("POST", "/api/rooms", json={})
        assert (full.status_code, full.json()["code"]) == (429, "ERR_ROOMS_FULL")
        here.rooms.own("device-1", "Phone")
        with pytest.raises(GloveError, match="All 3 rooms"):
            here.rooms.own("device-2", "Tablet")
        assert here.rooms.own("device-1", "Phone").id == "device-1"
        await here.ask("DELETE", f"/api/rooms/{rooms[0]}")
        here.rooms.own("device-2", "Tablet")


async def test_an_empty_room_ends_by_itself_and_one_in_use_does_not() -> None:
    house = House(["Hello."])
    rooms = RoomBook(lambda _, sound: house.open(sound), idle_s=60, linger_s=300)
    rooms.start()
    used, unused = rooms.create("here"), rooms.create("here")
    socket = MemorySocket()
    call = asyncio.create_task(used.room.serve(socket))
    await asyncio.sleep(70)
    assert [entry.id for entry in rooms.open] == ["page", used.id] and unused.room.state.value == "closed"
    socket.hang_up()
    await call
    await asyncio.sleep(290)
    assert used in rooms.open  # somebody may come back
    await asyncio.sleep(90)
    assert [entry.id for entry in rooms.open] == ["page"]
    assert house.session.closed
    await rooms.close()
    await rooms.close()


@pytest.mark.realtime
async def test_a_phone_sees_and_enters_its_own_rooms_only(tmp_path: Path) -> None:
    async with network(tmp_path, "Hello.") as here:
        phone, other = await here.paired(), await here.paired()
        theirs = (await other.ask("POST", "/api/rooms", json={"title": "Secret"})).json()["id"]
        async with phone.call() as call:
            await first(call)
            shown = (await phone.ask("GET", "/api/rooms")).json()["rooms"]
            assert len(shown) == 1 and shown[0]["yours"]
        for room in (theirs, "page"):
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/join"), ("POST", "/leave")):
                assert (await phone.ask(method, f"/api/rooms/{room}{path}")).status_code == 404
            with pytest.raises(InvalidStatus):
                async with phone.call(f"/room/{room}"):
                    pass
        assert (await other.ask("GET", f"/api/rooms/{theirs}")).status_code == 200


@pytest.mark.realtime
async def test_the_control_api_does_what_its_description_says(tmp_path: Path) -> None:
    """Schemathesis makes up requests by the hundred, sensible and not, and holds every answer to the description."""
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    # Which texts are descriptions of a call, no schema can say; that one is too long is said with 413.
    own_rules = [negative_data_rejection, positive_data_acceptance]
    beyond_schemas = {"/api/call": own_rules, "/api/rooms/{room_id}/call": own_rules}
    async with machine(tmp_path / "lan", most_per_client=4) as here:
        document = (await here.ask("GET", "/api/openapi.json")).json()
        assert {"/api/rooms", "/api/rooms/{room_id}/join", "/api/invitations", "/api/devices"} <= document[
            "paths"
        ].keys()
        schema = schemathesis.openapi.from_dict(document)
        base, bearer = f"http://127.0.0.1:{here.port}", {"Authorization": f"Bearer {TOKEN}"}
        made = 0

        def examine(operation: Any) -> None:
            nonlocal made
            modes = [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]

            @settings(
                max_examples=8,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(st.one_of(modes))
            def asked(case: Any) -> None:
                nonlocal made
                made += 1
                case.call_and_validate(base_url=base, headers=bearer, excluded_checks=beyond_schemas.get(case.path, []))

            asked()

        for found in schema.get_all_operations():
            await asyncio.to_thread(examine, found.ok())
        assert made > 60
        assert (await here.browser.get("/health")).json()["ok"] is True


@pytest.mark.realtime
async def test_the_description_is_for_visitors_and_names_every_refusal(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        stranger = await httpx.AsyncClient(trust_env=False).get(f"http://127.0.0.1:{here.port}/api/openapi.json")
        assert stranger.status_code == 401
        document = (await here.ask("GET", "/api/openapi.json")).json()
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                assert operation["operationId"] and operation["summary"].endswith("."), (path, method)
                assert {"401", "403", "429"} <= operation["responses"].keys()
        refused = await here.ask("PUT", "/api/rooms")
        assert refused.status_code == 405 and refused.headers["allow"] == "GET, POST"
