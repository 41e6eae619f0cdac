"""``glove pair``, ``glove rooms`` and ``glove certificate`` against an appliance that runs."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette

from appliance.lan import network as lan
from appliance.lan.api import at_the_machine, on_the_network
from appliance.lan.network import LanPlace
from appliance.web.auth import Access, LoopbackDoor
from appliance.web.page_room import PAGE, run_page
from appliance.web.room_api import RoomDesk
from appliance.web.room_book import MOST_PER_CLIENT, MOST_ROOMS, RoomBook
from audio.io.base import AudioIO
from realtime.browser.session import BrowserSession
from tests.appliance.conftest import Ended
from tests.appliance.house import House, house, simulated
from tests.appliance.network import HOST, Phone, Silent
from tests.docs.pages import Page, quoted

pytestmark = pytest.mark.realtime
Glove = Callable[..., Ended]
FINGERPRINT = re.compile(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}")


@pytest.fixture(autouse=True)
def own_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The network of the machine is its loopback, and nothing is announced."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    monkeypatch.setenv("GLOVE_STORE__PATH", str(tmp_path / "glove.db"))
    monkeypatch.setattr("appliance.lan.page.LanPlace", place_on_loopback)


def place_on_loopback(folder: Path | None, port: int, name: str, hosts: tuple[str, ...]) -> LanPlace:
    return LanPlace(folder, port, HOST, hosts, addresses=lambda: ("127.0.0.1",), announcer=Silent)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running(folder: Path, **page: object) -> AsyncIterator[House]:
    config = simulated(folder / "glove.db", page={"port": free_port(), "lan_port": free_port(), **page})
    async with house(folder, config, {PAGE: run_page}) as home:
        async with asyncio.timeout(30):
            while PAGE not in home.daemon.facts or "pair" not in home.daemon.handlers:
                await asyncio.sleep(0.02)
        yield home


async def test_a_phone_is_paired_listed_and_revoked_from_the_command_line(tmp_path: Path, glove: Glove) -> None:
    async with running(tmp_path) as home:
        assert "lan" not in home.daemon.facts
        assert (await asyncio.to_thread(glove, "pair", "list")).out == "No device is paired.\n"
        shown = await asyncio.to_thread(glove, "pair")
        assert shown.code == 0 and "\N{FULL BLOCK}" in shown.out and "works once, for 5 minutes" in shown.out
        url = re.search(rf"https://{HOST}:\d+/pair#(\S+)", shown.out)
        assert url is not None and url[0].replace(HOST, "127.0.0.1") in shown.out
        fingerprints = FINGERPRINT.findall(shown.out)
        told = await asyncio.to_thread(glove, "certificate", "show")
        assert told.code == 0 and sorted(FINGERPRINT.findall(told.out)) == sorted(fingerprints)
        assert HOST in told.out and url[1] not in json.dumps(home.daemon.status()) + "".join(home.said)
        assert "local network: https://" in (await asyncio.to_thread(glove, "status")).out

        exported = await asyncio.to_thread(glove, "certificate", "export", "house.pem")
        assert exported.code == 0 and "house.pem" in exported.out
        port = int(url[0].split(":")[2].split("/")[0])
        phone = Phone(Reached(port), ssl.create_default_context(cafile="house.pem"))  # type: ignore[arg-type]
        assert (await phone.pair(url[1], "Kitchen phone")).status_code == 200

        renewed = await asyncio.to_thread(glove, "certificate", "renew")
        assert renewed.code == 0
        assert fingerprints[0] not in (await asyncio.to_thread(glove, "certificate", "show")).out
        rooms = await phone.ask("POST", "/api/rooms", json={"title": "Stove"})
        assert rooms.status_code == 201  # the authority is the same, so the phone is content
        listed = await asyncio.to_thread(glove, "rooms")
        assert "device: This machine, empty, down" in listed.out and "Stove, empty" in listed.out

        device = (await asyncio.to_thread(glove, "pair", "list")).out
        assert "Kitchen phone" in device
        gone = await asyncio.to_thread(glove, "pair", "revoke", device.split()[0])
        assert gone.out == "Kitchen phone is not paired any more.\n"
        assert (await phone.ask("GET", "/api/rooms")).status_code == 401
        assert "Stove" not in (await asyncio.to_thread(glove, "rooms")).out
        await phone.close()
        assert (await asyncio.to_thread(glove, "pair", "off")).code == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1).close()


class Reached:
    """What a phone knows of the machine."""

    def __init__(self, port: int) -> None:
        self.port = port


async def test_the_commands_of_the_page_about_it_work_in_order(tmp_path: Path, glove: Glove) -> None:
    (section,) = [each for each in Page("page.md").sections if each.title == "From a phone in the house"]
    commands = [line[8:] for line in section.text.splitlines() if line.startswith("$ glove ")]
    assert len(commands) > 5
    async with running(tmp_path):
        for command in commands:
            ended = await asyncio.to_thread(glove, *shlex.split(command))
            assert ended.code == 0, f"glove {command}: {ended.err}"


async def test_the_page_about_it_tells_the_requests_and_limits_as_they_are() -> None:
    page = Page("page.md")
    told = {
        (span.split()[0], span.split()[1].replace("ID", "{id}"))
        for request, _ in page.table("request")
        for span in quoted(request)
        if " /api/" in span
    }
    place = LanPlace(None)
    lan_of_nobody = lan.Lan(place, lambda _: Starlette())
    desk = RoomDesk(RoomBook(nobody), LoopbackDoor(Access("x" * 32)))
    table = (*desk.operations(), *at_the_machine(lan_of_nobody), *on_the_network(lan_of_nobody))
    assert {(each.method, re.sub(r"\{\w+\}", "{id}", each.path)) for each in table} == told
    (rooms,) = [each.text for each in page.sections if each.title == "Rooms"]
    words = {8: "eight", 3: "three"}
    assert f"at most {words[MOST_ROOMS]} rooms" in rooms.replace("\n", " ")
    assert f"{words[MOST_PER_CLIENT]} for each client" in rooms.replace("\n", " ")


async def nobody(name: str, sound: AudioIO) -> BrowserSession:
    raise AssertionError("nobody called")


async def test_rooms_are_opened_and_ended_from_the_command_line(tmp_path: Path, glove: Glove) -> None:
    async with running(tmp_path):
        room = (await asyncio.to_thread(glove, "rooms", "open", "--title", "Workshop")).out.strip()
        rooms = json.loads((await asyncio.to_thread(glove, "rooms", "--json")).out)
        assert [each["title"] for each in rooms] == ["This machine", "Page", "Workshop"]
        assert (await asyncio.to_thread(glove, "rooms", "leave", room)).out == "Nobody was in it.\n"
        assert (await asyncio.to_thread(glove, "rooms", "end", room)).code == 0
        again = await asyncio.to_thread(glove, "rooms", "end", room)
        assert again.code == 1 and "no such room" in again.err


async def test_configured_the_network_is_served_from_the_start_and_the_port_in_use_is_named(tmp_path: Path) -> None:
    async with running(tmp_path, lan=True) as home:
        await said(home, f"Local network: https://{HOST}:")
        port = home.daemon.config.page.lan_port
        assert not any("#" in line for line in home.said if line.startswith("Local"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        async with running(tmp_path, lan=True, lan_port=port) as home:
            await said(home, f"Local network: off. page.lan_port: port {port}")
            assert PAGE in home.daemon.facts  # the page of the machine itself is there all the same


async def said(home: House, begin: str) -> None:
    async with asyncio.timeout(10):
        while not any(line.startswith(begin) for line in home.said):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("command", [("pair",), ("pair", "list"), ("rooms",)])
def test_without_an_appliance_they_say_so(command: tuple[str, ...], glove: Glove) -> None:
    ended = glove(*command)
    assert ended.code == 1 and "does not run" in ended.err and "glove run" in ended.err


def test_a_certificate_that_is_not_there_yet_is_explained(glove: Glove) -> None:
    for command in (("show",), ("export", "house.crt")):
        ended = glove("certificate", *command)
        assert ended.code == 1 and "glove pair makes one" in ended.err


async def test_an_appliance_without_its_page_says_what_to_change(tmp_path: Path, glove: Glove) -> None:
    async with house(tmp_path, simulated()):
        ended = await asyncio.to_thread(glove, "pair")
        assert ended.code == 1 and "page.enabled" in ended.err


async def test_renewing_without_an_appliance_takes_effect_at_its_next_start(tmp_path: Path, glove: Glove) -> None:
    shown: list[str] = []
    for _ in range(2):
        async with running(tmp_path):
            await asyncio.to_thread(glove, "pair")
            shown += FINGERPRINT.findall((await asyncio.to_thread(glove, "certificate", "show")).out)
        assert (await asyncio.to_thread(glove, "certificate", "renew", "--authority")).code == 0
    assert len(shown) == 4 == len(set(shown))
    assert lan.lan_folder(simulated()) is None
