"""The connection over the network, against a real WebSocket server on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import numpy as np
import pytest
from websockets.asyncio.server import Request, Response, ServerConnection, serve

from audio.providers.elevenlabs.stt import ScribeStt
from audio.providers.socket import ConnectionEnded, ConnectionRefused, Target, dial, json_object
from audio.stt.base import SttFinal

KEY = "sk_very-secret-key"


@asynccontextmanager
async def server(
    talk: Callable[[ServerConnection], Awaitable[None]], refuse: tuple[HTTPStatus, str] | None = None
) -> AsyncIterator[str]:
    def gate(connection: ServerConnection, request: Request) -> Response | None:
        return None if refuse is None else connection.respond(*refuse)

    async with serve(talk, "127.0.0.1", 0, process_request=gate) as running:
        port = next(iter(running.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def test_text_and_bytes_go_both_ways() -> None:
    async with server(echo) as url:
        connection = await dial(Target(url, {"xi-api-key": KEY}))
        await connection.send("häl")
        await connection.send(b"\x00\xff")
        assert [await connection.receive(), await connection.receive()] == ["häl", b"\x00\xff"]
        await connection.close()
        await connection.close()
        with pytest.raises(ConnectionEnded):
            await connection.send("too late")


async def test_headers_reach_the_service() -> None:
    async def talk(connection: ServerConnection) -> None:
        assert connection.request is not None
        await connection.send(connection.request.headers["xi-api-key"])

    async with server(talk) as url:
        connection = await dial(Target(url, {"xi-api-key": KEY}))
        assert await connection.receive() == KEY
        await connection.close()


async def test_the_end_says_why() -> None:
    async def talk(connection: ServerConnection) -> None:
        await connection.close(1008, "terms")

    async with server(talk) as url:
        connection = await dial(Target(url))
        with pytest.raises(ConnectionEnded) as caught:
            await connection.receive()
        assert (caught.value.code, caught.value.reason) == (1008, "terms")
        await connection.close()


async def test_a_connection_cut_off_is_an_end_without_words() -> None:
    async def talk(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with server(talk) as url:
        connection = await dial(Target(url))
        with pytest.raises(ConnectionEnded) as caught:
            await connection.receive()
        assert caught.value.code == 1006
        await connection.close()


async def test_a_refused_handshake_gives_status_and_words() -> None:
    async with server(echo, (HTTPStatus.UNAUTHORIZED, "invalid key")) as url:
        with pytest.raises(ConnectionRefused) as caught:
            await dial(Target(url))
    assert caught.value.status == 401 and "invalid key" in caught.value.words
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/", "http://127.0.0.1:9/?token=abc-secret", "nonsense"])
async def test_nobody_there_is_refused_without_quoting_the_address(url: str) -> None:
    with pytest.raises(ConnectionRefused) as caught:
        await dial(Target(url))
    assert caught.value.status is None and "secret" not in str(caught.value)


async def test_a_whole_utterance_over_the_network() -> None:
    async def talk(connection: ServerConnection) -> None:
        await connection.send(json.dumps({"message_type": "session_started", "session_id": "s", "config": {}}))
        async for message in connection:
            if json.loads(message)["commit"]:
                await connection.send(json.dumps({"message_type": "committed_transcript", "text": "It works."}))

    async with server(talk) as url:
        stt = ScribeStt(KEY, base_url=url)
        await stt.connect()
        final = asyncio.get_running_loop().create_future()
        stt.events.on(SttFinal, final.set_result)
        stt.send_audio(np.full(16_000, 300, np.int16))
        stt.flush_utterance()
        assert (await final).text == "It works."
        await stt.disconnect()


@pytest.mark.parametrize("message", ["", "null", "[1]", "7", "{", b"\xff\xfe\x00", '"text"'])
def test_what_is_no_object_is_an_empty_one(message: str | bytes) -> None:
    assert json_object(message) == {}


@pytest.mark.realtime
@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:1", "socks5://127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ConnectionRefused, match="proxy"):
        await dial(Target("wss://service.invalid/listen"))


@pytest.mark.realtime
async def test_a_port_that_is_none_is_no_address() -> None:
    with pytest.raises(ConnectionRefused, match="no address"):
        await dial(Target("ws://localhost:99999/listen"))
