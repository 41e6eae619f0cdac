"""A server on this machine that speaks enough of Chat Completions to test a client against."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """What the server answers to one request: chunks of a stream, or a ``body``.

    ``hang`` keeps the stream open until the client leaves, ``drop`` breaks it off, ``late_s`` waits before the first
    byte.
    """

    chunks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    status: int = 200
    body: Any = None
    hang: bool = False
    drop: bool = False
    late_s: float = 0.0
    pause_s: float = 0.0


@dataclass
class FakeOpenAi:
    """Requests as they came in (``paths``, ``bodies``, ``headers``), and whether the client left in mid-stream."""

    answers: list[Answer]
    paths: list[str] = field(default_factory=list[str])
    bodies: list[Any] = field(default_factory=list[Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    client_left: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FakeOpenAi]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
            self.paths.append(first.split(" ")[1])
            self.headers.append(headers)
            self.bodies.append(json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"null"))
            await self._answer(self.answers.pop(0), reader, writer)
        finally:
            writer.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(answer.late_s)
        stream = answer.body is None
        body = b"" if stream else json.dumps(answer.body).encode()
        lines = [f"HTTP/1.1 {answer.status} X", "connection: close"]
        lines += ["content-type: text/event-stream", "transfer-encoding: chunked"] if stream else []
        lines += [] if stream else ["content-type: application/json", f"content-length: {len(body)}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        for chunk in answer.chunks:
            await self._event(writer, json.dumps(chunk))
            await asyncio.sleep(answer.pause_s)
        if answer.hang:
            await reader.read()
            self.client_left.set()
        elif stream and not answer.drop:
            await self._event(writer, "[DONE]")
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _event(self, writer: asyncio.StreamWriter, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        await writer.drain()


def chunk(finish: str | None = None, usage: dict[str, Any] | None = None, **delta: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return {**common, "usage": usage} if usage else common


def call(index: int, call_id: str | None = None, name: str | None = None, arguments: str = "", **more: Any) -> Any:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"index": index, **({"id": call_id, "type": "function"} if call_id else {}), "function": function, **more}


def usage(tokens_in: int = 10, tokens_out: int = 7, cached: int = 0) -> dict[str, Any]:
    counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    last = chunk(usage={**counts, "prompt_tokens_details": {"cached_tokens": cached}})
    return {**last, "choices": []}


def says(*pieces: str, finish: str = "stop", **options: Any) -> Answer:
    chunks = [chunk(role="assistant", content=""), *(chunk(content=piece) for piece in pieces)]
    return Answer([*chunks, chunk(finish), usage()], **options)


def whole(**message: Any) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(body={**body, "usage": usage()["usage"]})
