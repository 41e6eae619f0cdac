"""Model servers on this machine are recognised by what they say, whoever else listens there."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agents.models.discovery import SIGNATURES, Offer, Signature, find_local_servers

pytestmark = pytest.mark.realtime

OLLAMA, LMSTUDIO, LLAMA = SIGNATURES
LISTS: dict[str, Any] = {
    "Ollama": {"models": [{"name": "qwen3:4b", "digest": "ab12", "size": 1}]},
    "LM Studio": {
        "object": "list",
        "data": [
            {"id": "qwen3-4b", "object": "model", "type": "llm", "state": "not-loaded"},
            {"id": "nomic", "object": "model", "type": "embeddings", "state": "loaded"},
        ],
    },
    "llama-server": {"object": "list", "data": [{"id": "smollm2", "object": "model", "owned_by": "llamacpp"}]},
}


@contextlib.asynccontextmanager
async def server(body: bytes, status: int = 200, late_s: float = 0) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that answers everything alike; yields its port and the requests it got."""
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        await asyncio.sleep(late_s)
        head = (
            f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\nlocation: /elsewhere\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], requests
    finally:
        listening.close()


async def look(signature: Signature, port: int, timeout_s: float = 2.0) -> list[Offer]:
    return await find_local_servers([replace(signature, port=port)], timeout_s)


@pytest.mark.parametrize(
    ("signature", "provider", "models"),
    [
        (OLLAMA, "ollama", ("qwen3:4b",)),
        (LMSTUDIO, "lmstudio", ("qwen3-4b",)),
        (LLAMA, "openai-compat", ("smollm2",)),
    ],
)
async def test_a_server_is_offered_with_its_models(
    signature: Signature, provider: str, models: tuple[str, ...]
) -> None:
    async with server(json.dumps(LISTS[signature.server]).encode()) as (port, requests):
        offers = await look(signature, port)
    assert offers == [Offer(provider, f"http://127.0.0.1:{port}/v1", models, signature.server)]
    assert len(requests) == 1
    head = requests[0].lower()
    assert head.startswith(f"get {signature.path} ")
    assert "authorization" not in head and "cookie" not in head


@pytest.mark.parametrize("signature", SIGNATURES)
async def test_others_on_the_same_port_are_no_offer(signature: Signature) -> None:
    strangers: list[Any] = [body for name, body in LISTS.items() if name != signature.server]
    strangers += [
        {"models": []},
        {"data": []},
        {"models": "x"},
        [1],
        None,
        {"data": [{"id": "gpt", "object": "model"}]},
    ]
    bodies = [json.dumps(body).encode() for body in strangers]
    for body in (*bodies, b"<html>Tomcat</html>", b"", b"\xff\xfe"):
        async with server(body) as (port, _):
            assert await look(signature, port) == []


async def test_whoever_redirects_refuses_dawdles_or_floods_is_no_offer() -> None:
    good = json.dumps(LISTS["Ollama"]).encode()
    for status in (302, 401, 500):
        async with server(good, status) as (port, requests):
            assert await look(OLLAMA, port) == []
        assert len(requests) == 1
    async with server(good, late_s=1) as (port, _):
        assert await look(OLLAMA, port, 0.2) == []
    flood = json.dumps({"models": [{"name": "x" * 2_000_000, "digest": "y"}]}).encode()
    async with server(flood) as (port, _):
        assert await look(OLLAMA, port) == []


async def test_no_proxy_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with server(json.dumps(LISTS["Ollama"]).encode()) as (port, _):
        assert len(await look(OLLAMA, port)) == 1


async def test_nobody_is_found_quickly_where_nobody_is() -> None:
    async with server(b"{}") as (port, _):
        pass
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await find_local_servers([replace(one, port=port) for one in SIGNATURES], 0.5) == []
    assert loop.time() - began < 1.5
