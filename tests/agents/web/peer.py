"""One HTTP call into an ASGI application, piece by piece, on virtual time; the caller can be slow and can leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

Event = dict[str, Any]


class Call:
    """A call that is under way. ``slow`` leaves what is sent waiting until ``drain``."""

    def __init__(self, app: ASGIApp, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        path, _, query = path.partition("?")
        self._scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": raw, "client": ("127.0.0.1", 1), "server": ("localhost", 80),
        }  # fmt: skip
        self._incoming: asyncio.Queue[Event] = asyncio.Queue()
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self.outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.flowing = asyncio.Event()
        self.flowing.set()
        self._buffer = b""
        self.task = asyncio.ensure_future(app(self._scope, self._incoming.get, self._send))
        self.task.add_done_callback(lambda _: self.outgoing.put_nowait(None))

    async def _send(self, message: Any) -> None:
        await self.flowing.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        elif message["body"]:
            self.outgoing.put_nowait(message["body"])

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def piece(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        return await self.outgoing.get()

    async def events(self) -> AsyncIterator[Event]:
        """The events, without heartbeats, parsed as a client does."""
        while (piece := await self.piece()) is not None:
            self._buffer += piece
            while b"\n\n" in self._buffer:
                block, _, self._buffer = self._buffer.partition(b"\n\n")
                if block.startswith(b"data: "):
                    yield json.loads(block.removeprefix(b"data: "))
        assert not self._buffer, "the stream ended within an event"

    async def next(self, *kinds: str) -> Event:
        """The next event, or the next of ``kinds``; others before it are passed over."""
        async for event in self.events():
            if not kinds or event["type"] in kinds:
                return event
        raise AssertionError(f"the stream ended before {kinds}")

    async def all(self) -> list[Event]:
        return [event async for event in self.events()]

    async def json(self) -> Any:
        body = b""
        while (piece := await self.piece()) is not None:
            body += piece
        return json.loads(body) if body else None


@asynccontextmanager
async def call(
    app: ASGIApp, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
) -> AsyncIterator[Call]:
    """Call ``app``; at the end the caller leaves and the application must end, too."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    told = {"host": "localhost", "content-type": "application/json", "content-length": str(len(content)), **headers}
    if token is not None:
        told["authorization"] = f"Bearer {token}"
    made = Call(app, method, path, content, {name.replace("_", "-"): value for name, value in told.items()})
    try:
        yield made
    finally:
        made.flowing.set()
        made.leave()
        async with asyncio.timeout(5):
            await made.task


async def ask(app: ASGIApp, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
    """Status and JSON of a whole answer."""
    async with call(app, method, path, body, **options) as made:
        answer = await made.json()
        return made.status, answer


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """``app`` on a real socket of this machine; its address."""
    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
