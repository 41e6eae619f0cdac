"""The local network on loopback: a machine that announces itself, and phones that know its authority."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect

from appliance.lan.app import lan_app
from appliance.lan.authority import fingerprint
from appliance.lan.door import COOKIE
from appliance.lan.network import Lan, LanPlace
from appliance.web.room_book import RoomBook
from tests.realtime.peer import House

HOST = "glove-test.local"


class Silent:
    """Announces nothing, and gets every name it wants."""

    def __init__(self, label: str) -> None:
        self.host = f"{label}.local"
        self.said: list[str] = []

    async def claim(self, addresses: Sequence[str]) -> str:
        self.said.append(f"claim {' '.join(addresses)}")
        return self.host

    async def publish(self, port: int) -> None:
        self.said.append("publish")

    async def close(self) -> None:
        self.said.append("close")


class Phone:
    """A browser in the same network, without its user interface."""

    def __init__(self, lan: Lan, trusted: ssl.SSLContext) -> None:
        self._lan = lan
        self.trusted = trusted
        self.cookie = ""
        self._browser = httpx.AsyncClient(verify=trusted, trust_env=False)

    @property
    def origin(self) -> str:
        return f"https://{HOST}:{self._lan.port}"

    async def ask(self, method: str, path: str, *, host: str = HOST, **options: Any) -> httpx.Response:
        """Send a request over TLS to the machine; cookies are sent and taken as a browser does."""
        headers = {"host": f"{host}:{self._lan.port}", **options.pop("headers", {})}
        if self.cookie:
            headers.setdefault("cookie", f"{COOKIE}={self.cookie}")
        url = f"https://127.0.0.1:{self._lan.port}{path}"
        extensions = {"sni_hostname": HOST}
        answer = await self._browser.request(method, url, headers=headers, extensions=extensions, **options)
        self._browser.cookies.clear()
        for cookie in answer.headers.get_list("set-cookie"):
            self.cookie = re.match(rf"{COOKIE}=([^;]*)", cookie)[1]  # type: ignore[index]
        return answer

    async def pair(self, token: str, name: str = "Phone") -> httpx.Response:
        return await self.ask("POST", "/api/pair", json={"token": token, "name": name})

    def call(self, path: str = "/room", **headers: str) -> connect:
        """Open a room's socket."""
        own = {"Cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {}
        return connect(
            f"wss://{HOST}:{self._lan.port}{path}",
            host="127.0.0.1",
            port=self._lan.port,
            ssl=self.trusted,
            additional_headers={"Origin": self.origin, **own, **headers},
            max_size=None,
            proxy=None,
        )

    async def close(self) -> None:
        await self._browser.aclose()


class Network:
    """A machine on the network. ``token`` invites a phone."""

    def __init__(self, lan: Lan, rooms: RoomBook, house: House) -> None:
        self.lan = lan
        self.rooms = rooms
        self.house = house
        self.phones: list[Phone] = []

    def token(self) -> str:
        return self.lan.invite().by_name.reveal().partition("#")[2]

    def phone(self) -> Phone:
        """One that trusts the authority which was installed on it."""
        trusted = ssl.create_default_context(cafile=str(self.lan.folder / "authority.crt"))
        trusted.verify_flags |= ssl.VERIFY_X509_STRICT
        assert self.lan.authority is not None and fingerprint(self.lan.authority.certificate)
        self.phones.append(Phone(self.lan, trusted))
        return self.phones[-1]

    async def paired(self) -> Phone:
        phone = self.phone()
        assert (await phone.pair(self.token())).status_code == 200
        return phone


@asynccontextmanager
async def network(folder: Path | None, *replies: str, **options: Any) -> AsyncIterator[Network]:
    """A machine whose local network, on 127.0.0.1, is switched on."""
    house = House(list(replies))
    rooms = RoomBook(lambda _, sound: house.open(sound), **options.pop("limits", {}))
    place = LanPlace(
        folder, port=0, name=HOST, addresses=lambda: ("127.0.0.1",), announcer=Silent, **options.pop("place", {})
    )
    lan = Lan(place, lambda lan: lan_app(lan, rooms, **options))
    lan.on_revoked = rooms.end_all_of
    here = Network(lan, rooms, house)
    await lan.turn_on()
    try:
        yield here
    finally:
        for phone in here.phones:
            await phone.close()
        await rooms.close()
        await lan.close()
