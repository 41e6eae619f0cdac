"""A server on this machine that speaks enough of the Messages protocol to test a client against."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass
class Answer:
    """What the server answers to one request.

    With ``events``, a stream; ``hang`` keeps it open after them until the client leaves, ``drop`` breaks it off.
    """

    events: list[Event] = field(default_factory=list[Event])
    status: int = 200
    body: Any = None
    hang: bool = False
    drop: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class FakeAnthropic:
    """Requests as they came in (``bodies``, ``headers``), and whether the client left in mid-stream."""

    answers: list[Answer]
    bodies: list[Any] = field(default_factory=list[Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    client_left: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FakeAnthropic]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
            self.headers.append(headers)
            self.bodies.append(json.loads(await reader.readexactly(int(headers["content-length"]))))
            await self._answer(self.answers.pop(0), reader, writer)
        finally:
            writer.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = answer.status == 200
        lines = [f"HTTP/1.1 {answer.status} X", "connection: close"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        body = b"" if stream else json.dumps(answer.body).encode()
        lines += ["content-type: text/event-stream", "transfer-encoding: chunked"] if stream else []
        lines += [] if stream else ["content-type: application/json", f"content-length: {len(body)}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        for event in answer.events:
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
        if answer.hang:
            await reader.read()
            self.client_left.set()
        elif stream and not answer.drop:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


def start(tokens_in: int = 10, **usage: int) -> Event:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": tokens_in, "output_tokens": 1, **usage},
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def block(index: int, content: Event, *deltas: Event) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[Event]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int, call_id: str, name: str, *pieces: str) -> list[Event]:
    content = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, content, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def end(stop_reason: str = "end_turn", tokens_out: int = 7) -> list[Event]:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens_out}},
        {"type": "message_stop"},
    ]


def says(*pieces: str) -> Answer:
    return Answer([start(), *text(0, *pieces), *end()])
