"""The page's server on a real loopback socket."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import AsyncExitStack, suppress
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agents.base.errors import ConfigError
from agents.models.scripted import ScriptedModel
from agents.web.chat_handler import ChatHandler
from appliance.web.api import make_app, serve
from appliance.web.auth import COOKIE, new_token
from appliance.web.pages import load_assets
from audio.io.base import AudioIO
from tests.realtime.peer import PageSession
from tests.realtime.server import place

pytestmark = pytest.mark.realtime


async def message(call: ClientConnection, kind: str) -> dict[str, Any]:
    async with asyncio.timeout(10):
        async for data in call:
            if isinstance(data, str) and (found := json.loads(data))["t"] == kind:
                return found
    raise AssertionError(f"no {kind}")


async def closed(call: ClientConnection) -> tuple[int, str]:
    async with asyncio.timeout(10):
        try:
            while True:
                await call.recv()
        except ConnectionClosed as fault:
            assert fault.rcvd is not None
            return fault.rcvd.code, fault.rcvd.reason


async def test_the_page_and_its_modules_are_served_with_protection() -> None:
    async with place() as here, httpx.AsyncClient(base_url=here.http) as browser:
        page = await browser.get("/")
        assert page.status_code == 200 and "app.js" in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in page.headers
        for name, asset in load_assets().items():
            if not name.endswith(".html"):  # these have addresses of their own
                found = await browser.get(f"/{name}")
                assert found.content == asset.content and found.headers["content-type"] == asset.media_type


async def test_nothing_else_is_served() -> None:
    async with place() as here, httpx.AsyncClient(base_url=here.http) as browser:
        for path in ("/api.py", "/../api.py", "/%2e%2e/api.py", "/page/app.js", "/index.htm", "/..%2fauth.py", "/docs"):
            assert (await browser.get(path)).status_code == 404


async def test_health_is_open_and_tells_no_secret() -> None:
    async with place(health=lambda: {"version": "1"}) as here, httpx.AsyncClient(base_url=here.http) as browser:
        health = await browser.get("/health")
        assert health.json() == {"ok": True, "room": {"state": "empty", "health": "down"}, "version": "1"}
        assert here.token not in health.text


async def test_a_foreign_host_name_is_refused_everywhere() -> None:
    async with place() as here, httpx.AsyncClient(base_url=here.http, headers={"host": "evil.example"}) as browser:
        for path in ("/", "/health", "/app.js"):
            assert (await browser.get(path)).status_code == 403
        with pytest.raises(InvalidStatus) as refusal:
            async with connect(here.ws.replace("127.0.0.1", "localhost"), additional_headers={"Host": "evil.example"}):
                pass
        assert refusal.value.response.status_code in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_foreign_page_cannot_open_the_room_even_with_the_token(origin: str) -> None:
    async with place() as here:
        with pytest.raises(InvalidStatus) as refusal:
            async with here.call(Origin=origin):
                pass
        assert refusal.value.response.status_code == 403


async def test_without_the_token_there_is_no_room() -> None:
    async with place() as here:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": f"{COOKIE}=wrong"}):
            with pytest.raises(InvalidStatus) as refusal:
                async with connect(here.ws, additional_headers=headers):
                    pass
            assert refusal.value.response.status_code == 403


async def test_the_token_becomes_a_cookie_that_opens_the_room() -> None:
    async with place("Hello.") as here, httpx.AsyncClient(base_url=here.http) as browser:
        for body in ({"token": "wrong"}, {}, [], {"token": 1}, {"token": "x" * 5000}):
            assert (await browser.post("/login", json=body)).status_code == 403
        text = json.dumps({"token": here.token})
        assert (await browser.post("/login", content=text, headers={"content-type": "text/plain"})).status_code == 415
        foreign = {"origin": "http://evil.example"}
        assert (await browser.post("/login", json={"token": here.token}, headers=foreign)).status_code == 403
        admitted = await browser.post("/login", json={"token": here.token}, headers={"origin": here.http})
        cookie = admitted.headers["set-cookie"]
        assert admitted.status_code == 204 and here.token not in cookie
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/room"))
        async with connect(here.ws, additional_headers={"Cookie": cookie.split(";")[0], "Origin": here.http}) as call:
            assert (await message(call, "ready"))["assistantName"] == "Glove"


async def test_the_token_in_the_address_is_taken_out_of_it() -> None:
    async with place() as here, httpx.AsyncClient(base_url=here.http) as browser:
        moved = await browser.get("/", params={"token": here.token})
        assert moved.status_code == 303 and "token" not in moved.headers["location"]
        assert COOKIE in moved.headers["set-cookie"]
        assert (await browser.get("/", params={"token": "wrong"})).status_code == 403


async def test_a_typed_line_is_answered_aloud() -> None:
    async with place("It is noon.") as here, here.call() as call:
        await message(call, "ready")
        await call.send(json.dumps({"t": "say", "speaker": "user", "text": "what time is it"}))
        words, sound = "", 0
        async with asyncio.timeout(10):
            async for data in call:
                if isinstance(data, bytes):
                    sound += len(data) // 2
                elif (found := json.loads(data))["t"] == "speech":
                    words += found["text"]
                elif found["t"] == "speech_end":
                    break
        assert words.strip() == "It is noon." and sound > 8000


async def test_ten_megabytes_end_the_call_and_not_the_room() -> None:
    async with place("Hello.") as here:
        for flood in (b"\0" * 10_000_000, "x" * 10_000_000):
            async with here.call() as call:
                await message(call, "ready")
                with suppress(ConnectionClosed):
                    await call.send(flood)
                assert (await closed(call))[0] == 1009
        async with here.call() as call:
            assert await message(call, "ready")


async def test_binary_rubbish_ends_the_call_and_not_the_room() -> None:
    async with place("Hello.") as here:
        async with here.call() as call:
            await message(call, "ready")
            for size in range(1, 40, 2):
                await call.send(bytes(range(size)))
            assert (await closed(call))[0] == 1003
        async with here.call() as call:
            assert await message(call, "ready")


async def test_a_second_caller_replaces_the_first() -> None:
    async with place("Hello.") as here, here.call() as first:
        await message(first, "ready")
        async with here.call() as second:
            await message(second, "ready")
            assert await closed(first) == (4000, "replaced by a new connection")


@pytest.mark.parametrize("begin", [b"", b"GET /health HTTP/1.1\r\nhost: "])
async def test_connections_that_ask_for_nothing_lock_nobody_out(begin: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.web.connections.REQUEST_S", 0.2)
    async with place("Hello.") as here, here.call() as caller, AsyncExitStack() as held:
        await message(caller, "ready")
        for _ in range(70):
            reader, writer = await asyncio.open_connection("127.0.0.1", here.server.port)
            held.callback(writer.close)
            writer.write(begin)
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        async with httpx.AsyncClient(base_url=here.http) as browser:
            assert (await browser.get("/health")).status_code == 200
        await caller.send(json.dumps({"t": "say", "text": "hello"}))
        assert (await message(caller, "utterance"))["text"] == "hello"


async def test_who_leaves_in_the_middle_of_its_token_leaves_no_fault_behind(caplog: pytest.LogCaptureFixture) -> None:
    begun = b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"
    async with place("Hello.") as here:
        _, writer = await asyncio.open_connection("127.0.0.1", here.server.port)
        writer.write(begun)
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()
        await asyncio.sleep(0.1)
        assert caplog.records == []


async def test_closing_says_goodbye_and_is_quick() -> None:
    async with place("Hello.") as here, here.call() as call:
        await message(call, "ready")
        async with asyncio.timeout(3):
            await here.server.close()
        assert await closed(call) == (1001, "the room is closing")
        with pytest.raises(OSError):
            await connect(here.ws)


async def test_a_port_in_use_is_explained_with_its_key() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError) as refusal:
            await serve(make_app(_never, new_token()), port=taken.getsockname()[1])
    assert refusal.value.code == "ERR_PAGE_PORT" and "page.port" in str(refusal.value)


async def test_a_host_that_is_none_is_explained_with_its_key() -> None:
    for host in ("no such host", "192.0.2.1"):
        with pytest.raises(ConfigError) as refusal:
            await serve(make_app(_never, new_token()), host=host, port=0)
        assert refusal.value.code == "ERR_PAGE_HOST" and "page.host" in str(refusal.value)


async def test_the_model_is_lent_only_where_that_is_configured_and_only_for_the_token() -> None:
    asked = {"systemPrompt": "", "messages": [{"sender": "user", "text": "hi"}]}
    async with place() as here, httpx.AsyncClient(base_url=here.http) as browser:
        bearer = {"authorization": f"Bearer {here.token}"}
        assert (await browser.post("/api/chat", json=asked, headers=bearer)).status_code == 404
    chat = ChatHandler(lambda: ScriptedModel(["Hello."] * 2))
    async with place(chat=chat) as here, httpx.AsyncClient(base_url=here.http) as browser:
        assert (await browser.post("/api/chat", json=asked)).status_code == 401
        answer = await browser.post("/api/chat", json=asked, headers={"authorization": f"Bearer {here.token}"})
        assert answer.status_code == 200 and '"text":"Hello."' in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        await browser.post("/login", json={"token": here.token})
        assert (await browser.post("/api/chat", json=asked)).status_code == 200
        foreign = {"origin": "http://evil.example"}
        assert (await browser.post("/api/chat", json=asked, headers=foreign)).status_code == 403


async def _never(_: AudioIO) -> PageSession:
    raise AssertionError("nobody called")
