"""Peers that take nothing, ask for too much or speak something else, on real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.appliance.network import HOST, network
from tests.realtime.peer import until
from tests.realtime.server import Place, place

pytestmark = pytest.mark.realtime

ELSEWHERE = ("127.0.0.2", 0)
"""Another address of this machine: a peer of its own."""

MASK = b"\0\0\0\0"
PING = b"\x89\xfd" + MASK + b"x" * 125
BEGINNING = b"\x01\x81" + MASK + b"x"
EMPTY_PIECE = b"\x00\x80" + MASK


@asynccontextmanager
async def deaf(here: Place) -> AsyncGenerator[socket.socket]:
    """A caller in the room who never reads again."""
    upgrade = [
        "GET /room HTTP/1.1",
        f"host: 127.0.0.1:{here.server.port}",
        f"authorization: Bearer {here.token}",
        "upgrade: websocket",
        "connection: Upgrade",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    with socket.create_connection(("127.0.0.1", here.server.port)) as peer:
        peer.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(peer, "\r\n".join([*upgrade, "", ""]).encode())
        await until(lambda: here.house.sessions)
        yield peer


async def works(here: Place) -> bool:
    async with here.call() as caller, asyncio.timeout(10):
        return json.loads(await caller.recv())["t"] == "ready"


def connections(here: Place) -> int:
    """With whom the server is connected."""
    process = psutil.Process()
    return sum(
        each.status == psutil.CONN_ESTABLISHED and each.laddr.port == here.server.port
        for each in process.net_connections("tcp")
    )


async def test_one_peer_with_all_its_places_locks_no_other_out() -> None:
    async with place("Hello.") as here, AsyncExitStack() as held:
        for _ in range(120):
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", here.server.port, local_addr=ELSEWHERE)
                held.callback(writer.close)
        await until(lambda: connections(here) >= 100)
        async with httpx.AsyncClient(base_url=here.http, trust_env=False) as browser:
            assert (await browser.get("/health")).status_code == 200
        assert await works(here)


@pytest.mark.parametrize(("begun", "flood"), [(b"", PING), (BEGINNING, EMPTY_PIECE)], ids=["pings", "pieces"])
async def test_who_has_things_kept_without_end_is_cut_off(begun: bytes, flood: bytes) -> None:
    async with place("Hello.") as here:
        async with deaf(here) as peer, asyncio.timeout(15):
            await asyncio.get_running_loop().sock_sendall(peer, begun)
            with pytest.raises(ConnectionError):
                while True:
                    await asyncio.get_running_loop().sock_sendall(peer, flood * 100)
                    await asyncio.sleep(0)
        assert await works(here)


async def test_a_connection_that_takes_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.web.connections.UNSENT_MS", 500)
    async with place("Hello.") as here:
        with socket.socket() as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(peer, ("127.0.0.1", here.server.port))
            asked = f"GET /app.js HTTP/1.1\r\nhost: 127.0.0.1:{here.server.port}\r\n\r\n".encode() * 400
            with suppress(ConnectionError):
                await loop.sock_sendall(peer, asked)
            await asyncio.sleep(0)
            await until(lambda: connections(here) == 1, 5)
            await until(lambda: connections(here) == 0)
        assert await works(here)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
async def test_nobody_is_talked_down_to_an_old_tls(tmp_path: Path, version: ssl.TLSVersion) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = version
    async with network(tmp_path) as here:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", here.lan.port, ssl=old, server_hostname=HOST)


async def test_plain_http_gets_no_answer_on_the_local_network(tmp_path: Path) -> None:
    async with network(tmp_path) as here, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", here.lan.port)
        writer.write(f"GET /health HTTP/1.1\r\nhost: {HOST}:{here.lan.port}\r\n\r\n".encode())
        with suppress(ConnectionError):
            assert b"HTTP/" not in await reader.read()
        writer.close()
