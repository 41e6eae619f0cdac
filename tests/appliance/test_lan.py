"""Phones in the house: pairing over real https, and everything that must not get anybody in."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agents.base.errors import GloveError
from appliance.lan.door import COOKIE
from appliance.web.pages import load_assets
from tests.appliance.network import HOST, Phone, network

pytestmark = pytest.mark.realtime


async def ready(call: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(10):
        message = json.loads(await call.recv())
    assert message["t"] == "ready"
    return message


async def refused(phone: Phone, path: str = "/room", **headers: str) -> int:
    with pytest.raises(InvalidStatus) as refusal:
        async with phone.call(path, **headers):
            pass
    return refusal.value.response.status_code


async def test_a_phone_that_scanned_the_code_talks_in_a_room_of_its_own(tmp_path: Path) -> None:
    async with network(tmp_path, "It is noon.") as here:
        phone = here.phone()
        assert await refused(phone) == 403
        answer = await phone.pair(here.token(), "Kitchen phone")
        assert answer.status_code == 200 and answer.json()["name"] == "Kitchen phone"
        cookies = answer.headers.get_list("set-cookie")
        assert [cookie.split("; ")[1] for cookie in cookies] == ["Path=/room", "Path=/api"]
        assert all(word in cookie for cookie in cookies for word in ("Secure", "HttpOnly", "SameSite=Strict"))
        async with phone.call() as call:
            await ready(call)
            await call.send(json.dumps({"t": "say", "speaker": "user", "text": "what time is it"}))
            async with asyncio.timeout(10):
                async for data in call:
                    if isinstance(data, str) and json.loads(data)["t"] == "speech_end":
                        break
            (room,) = [entry for entry in here.rooms.open if not entry.kept]
            assert room.title == "Kitchen phone"
            assert here.rooms.page.room.state.value == "empty"  # nobody took the place at the machine itself


async def test_a_token_works_once_and_says_why_it_does_not(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        token = here.token()
        assert (await here.phone().pair(token)).status_code == 200
        second = here.phone()
        assert (await second.pair(token)).json()["code"] == "ERR_PAIR_USED"
        assert (await second.pair("x" * 32)).json()["code"] == "ERR_PAIR_TOKEN"
        late = here.token()
        here.lan.invitations._known[-1].expires_s -= here.lan.invitations.valid_s
        assert (await second.pair(late)).json()["code"] == "ERR_PAIR_EXPIRED"
        assert second.cookie == "" and len(here.lan.devices.all) == 1


async def test_ten_at_once_with_one_token_make_one_session(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        token, phones = here.token(), [here.phone() for _ in range(8)]
        answers = await asyncio.gather(*(phone.pair(token) for phone in phones))
        assert sorted(answer.status_code for answer in answers) == [200, *[403] * 7]


async def test_a_thousand_attempts_are_slowed_down_and_lock_no_paired_phone_out(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        phone, thief = await here.paired(), here.phone()
        statuses = [(await thief.pair(f"guess-{number}")).status_code for number in range(1000)]
        assert statuses.count(403) < 40 and set(statuses) == {403, 429}
        blocked = await thief.pair(here.token())
        assert blocked.status_code == 429 and int(blocked.headers["retry-after"]) > 0
        thief.cookie = "guessed"
        assert (await thief.ask("GET", "/api/rooms")).status_code == 429
        assert (await phone.ask("GET", "/api/rooms")).status_code == 200


async def test_the_process_token_of_this_machine_opens_nothing_from_outside(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        phone = here.phone()
        assert (await phone.ask("GET", "/api/rooms")).status_code == 401
        bearer = {"authorization": f"Bearer {here.token()}"}
        assert (await phone.ask("GET", "/api/rooms", headers=bearer)).status_code == 401
        for method, path in (("POST", "/api/invitations"), ("GET", "/api/devices"), ("POST", "/login")):
            assert (await phone.ask(method, path)).status_code in (404, 405)
        paired = await here.paired()
        assert (await paired.ask("POST", "/api/invitations")).status_code == 404
        assert (await paired.ask("GET", "/devices")).status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "127.0.0.2", "glove-test.local.evil.example", "10.0.0.1"]
)
async def test_another_name_that_leads_here_is_refused(tmp_path: Path, host: str) -> None:
    async with network(tmp_path) as here:
        phone = await here.paired()
        for path in ("/", "/pair", "/health", "/api/rooms", "/authority.crt"):
            assert (await phone.ask("GET", path, host=host)).status_code == 403
        assert await refused(phone, Host=f"{host}:{here.lan.port}") in (400, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"http://{HOST}", "https://glove-test.local:1"])
async def test_a_foreign_page_gets_nowhere_even_with_the_cookie(tmp_path: Path, origin: str) -> None:
    async with network(tmp_path) as here:
        phone = await here.paired()
        assert await refused(phone, Origin=origin) == 403
        for method, path in (("GET", "/api/rooms"), ("POST", "/api/rooms"), ("DELETE", "/api/pairing")):
            assert (await phone.ask(method, path, headers={"origin": origin}, json={})).status_code == 403
        token = here.token()
        foreign = await here.phone().ask("POST", "/api/pair", headers={"origin": origin}, json={"token": token})
        assert foreign.status_code == 403
        assert (await here.phone().pair(token)).status_code == 200  # the foreign page did not use it up
        assert (await phone.ask("GET", "/api/rooms", headers={"sec-fetch-site": "same-site"})).status_code == 403


async def test_a_device_that_is_revoked_is_sent_out_at_once_and_stays_out(tmp_path: Path) -> None:
    async with network(tmp_path, "Hello.") as here:
        phone, other = await here.paired(), await here.paired()
        async with phone.call() as call, other.call() as spared:
            await ready(call)
            await ready(spared)
            await here.lan.revoke(here.lan.devices.all[0].id)
            async with asyncio.timeout(5):
                with pytest.raises(ConnectionClosed):
                    while True:
                        await call.recv()
            await spared.send(json.dumps({"t": "ping"}))
        assert await refused(phone) == 403
        assert (await other.ask("GET", "/api/rooms")).status_code == 200
        with pytest.raises(GloveError, match="glove pair list"):
            await here.lan.revoke("nobody")


async def test_a_phone_may_part_by_itself(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        phone = await here.paired()
        kept = phone.cookie
        assert (await phone.ask("DELETE", "/api/pairing")).status_code == 204
        assert phone.cookie == "" and here.lan.devices.all == ()
        phone.cookie = kept
        assert await refused(phone) == 403


async def test_sessions_outlive_the_process_and_no_secret_is_on_disk_or_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "lan"
    async with network(folder, "Hello.") as here:
        token = here.token()
        phone = here.phone()
        await phone.pair(token)
        await phone.pair(token)
        async with phone.call() as call:
            await ready(call)
        cookie, shown = phone.cookie, (here.lan.folder / "authority.crt").read_bytes()
    async with network(folder) as here:
        assert (here.lan.folder / "authority.crt").read_bytes() == shown
        again = here.phone()
        again.cookie = cookie
        assert (await again.ask("GET", "/api/rooms")).status_code == 200
    told = capsys.readouterr()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"authority.key", "devices.json", "server.key"} <= files.keys()
    everything = b"".join([*files.values(), caplog.text.encode(), told.out.encode(), told.err.encode()])
    for secret in (token.encode(), cookie.encode()):
        assert secret not in everything and secret.hex().encode() not in everything
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir() if path.name != "authority.crt")


async def test_the_cookie_changes_daily_and_the_old_one_ends_when_the_new_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    async with network(tmp_path, "Hello.") as here:
        phone = await here.paired()
        first, now = phone.cookie, here.lan.devices._now
        monkeypatch.setattr(here.lan.devices, "_now", lambda: now() + timedelta(days=2))
        async with phone.call() as call:  # a page that stays open only ever opens sockets
            assert call.response is not None
            (offered, _) = call.response.headers.get_all("set-cookie")
            await ready(call)
        assert (await phone.ask("GET", "/api/rooms")).status_code == 200
        assert phone.cookie == first  # the answer was lost: nothing is locked out, and there is no second one yet
        phone.cookie = offered.split("=", 1)[1].split(";")[0]
        assert (await phone.ask("GET", "/api/rooms")).status_code == 200
        phone.cookie = first
        assert (await phone.ask("GET", "/api/rooms")).status_code == 401
        monkeypatch.setattr(here.lan.devices, "_now", lambda: now() + timedelta(days=100))
        assert here.lan.devices.all == ()


async def test_nothing_listens_before_it_is_switched_on_and_nothing_afterwards(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        port = here.lan.port
        await here.lan.turn_on()  # once is enough
        announcer = here.lan._announcer
        token = here.token()
        await here.lan.turn_off()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 1).close()
        assert announcer.said == ["claim 127.0.0.1", "publish", "close"]  # type: ignore[union-attr]
        with pytest.raises(GloveError) as fault:
            here.lan.invite()
        assert fault.value.code == "ERR_LAN_OFF"
        await here.lan.turn_on()
        assert (await here.phone().pair(token)).json()["code"] == "ERR_PAIR_TOKEN"  # the old code went with it


async def test_addresses_that_come_and_go_are_followed_with_another_certificate(tmp_path: Path) -> None:
    addresses: list[str] = []
    async with network(tmp_path, place={"look_s": 0.02}) as here:
        object.__setattr__(here.lan._place, "addresses", lambda: tuple(addresses))
        await until(lambda: here.lan.addresses == ())
        with pytest.raises(GloveError) as fault:
            here.lan.invite()
        assert fault.value.code == "ERR_LAN_ADDRESS"
        before = here.lan.leaf
        addresses.append("127.0.0.1")
        await until(lambda: len(here.lan.addresses) == 2)
        assert (await here.phone().pair(here.token())).status_code == 200
        assert here.lan.leaf == before  # for the same names there is no need of another
        await here.lan.renew()
        assert here.lan.leaf != before
        assert (await here.phone().pair(here.token())).status_code == 200


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_phone_that_does_not_know_the_authority_is_warned(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        stranger = Phone(here.lan, ssl.create_default_context())
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await stranger.ask("GET", "/pair")
        await stranger.close()
        with pytest.raises(httpx.HTTPError):  # and nothing but https is spoken
            await httpx.AsyncClient(trust_env=False).get(f"http://127.0.0.1:{here.lan.port}/")


async def test_the_authority_can_be_fetched_before_pairing_and_its_key_cannot(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        phone = here.phone()
        answer = await phone.ask("GET", "/authority.crt")
        pem = (tmp_path / "authority.crt").read_text()
        assert ssl.DER_cert_to_PEM_cert(answer.content) == pem
        assert answer.headers["content-type"] == "application/x-x509-ca-cert"
        for path in ("/authority.key", "/server.key", "/devices.json", "/..%2fauthority.key", "/%2e%2e/authority.key"):
            assert (await phone.ask("GET", path)).status_code == 404
        page = await phone.ask("GET", "/pair")
        assert "pair.js" in page.text and "default-src 'none'" in page.headers["content-security-policy"]
        assert (await phone.ask("GET", "/pair.js")).content == load_assets()["pair.js"].content
        assert (await phone.ask("GET", "/health")).json() == {"ok": True}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"token": "' + b"x" * 10_000_000 + b'"}', 413),
        (b"[" * 3000, 400),
        (b'{"token": 1}', 400),
        (b'{"token": "a", "admin": true}', 400),
        (b"\xff\xfe", 400),
        (b"", 400),
    ],
)
async def test_bodies_that_are_too_long_or_make_no_sense_are_refused(tmp_path: Path, body: bytes, status: int) -> None:
    async with network(tmp_path) as here:
        phone = here.phone()
        json_type = {"content-type": "application/json"}
        try:
            answer = await phone.ask("POST", "/api/pair", content=body, headers=json_type)
            assert answer.status_code == status
        except httpx.WriteError:
            assert status == 413  # it hung up on the rest
        assert (await phone.pair(here.token())).status_code == 200


@pytest.mark.parametrize("secure", [False, True])
async def test_connections_that_never_ask_hold_no_place(
    tmp_path: Path, secure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.web.connections.REQUEST_S", 0.3)
    monkeypatch.setattr("appliance.web.server.HANDSHAKE_S", 0.3)
    monkeypatch.setattr("appliance.web.connections.MOST_PER_PEER", 40)
    async with network(tmp_path) as here, AsyncExitStack() as held:
        phone = here.phone()
        for _ in range(60):
            options = {"ssl": phone.trusted, "server_hostname": HOST} if secure else {}
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", here.lan.port, **options)
                held.callback(writer.close)
                writer.write(b"GET /health HTTP/1.1\r\nhost: " if secure else b"\x16\x03\x01\x00")
        async with asyncio.timeout(10):
            with suppress(OSError):
                await reader.read()
            while (await _status(phone)) != 200:
                await asyncio.sleep(0.05)
        token = here.token()
        assert (await phone.pair(token)).status_code == 200


async def _status(phone: Phone) -> int:
    try:
        return (await phone.ask("GET", "/health")).status_code
    except httpx.HTTPError:
        return 0


async def test_only_so_many_devices_are_paired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.lan.paired.MOST_DEVICES", 1)
    async with network(tmp_path) as here:
        await here.paired()
        answer = await here.phone().pair(here.token())
        assert answer.json()["code"] == "ERR_DEVICES_FULL" and "revoke" in answer.json()["remedy"]


def test_the_cookie_name_keeps_insecure_pages_from_setting_it() -> None:
    assert COOKIE.startswith("__Secure-")
