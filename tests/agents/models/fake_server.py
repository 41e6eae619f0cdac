"""A server on this machine that answers HTTP requests by script: whole, in pieces, late, broken off, or never."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class Answer:
    """What the server answers to one request: ``frames`` of a stream, or a ``body``.

    Attributes:
        frames: events of a stream, each in the wire format's own shape.
        status: of the response.
        body: JSON of a whole response; a stream when None.
        headers: more headers of the response.
        hang: keep the stream open behind the frames until the client leaves.
        drop: break it off behind the frames.
        late_s: wait before the first byte.
        pause_s: wait behind each frame.
        cut_at: break off behind this many bytes of the stream's own; None for no such place.
        piece: size of the pieces in which the stream is sent; all at once when None.
        polite: with ``cut_at``, end the response properly there, as a proxy would.
        silent: close the connection without a word, with ``hang`` only after the client left.
    """

    frames: list[Any] = field(default_factory=list[Any])
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    drop: bool = False
    late_s: float = 0.0
    pause_s: float = 0.0
    cut_at: int | None = None
    piece: int | None = None
    polite: bool = False
    silent: bool = False


@dataclass
class FakeServer:
    """Requests as they came in (``paths``, ``bodies``, ``headers``), and whether the client left in mid-stream.

    What is specific to a wire format is ``encode`` and ``end`` (bytes of a stream), ``path`` and ``check``, which fails
    for a request that the format does not allow; ``running`` fails so at its end.
    """

    answers: list[Answer]
    paths: list[str] = field(default_factory=list[str])
    bodies: list[Any] = field(default_factory=list[Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    refused: list[AssertionError] = field(default_factory=list[AssertionError])
    client_left: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    path: str = ""
    stream_type: str = "text/event-stream"
    end: bytes = b""

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return self.address + self.path

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Serve until the block is left; then raise what the format did not allow."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
        if self.refused:
            raise self.refused[0]

    def encode(self, frame: Any) -> bytes:
        """One event of a stream as bytes."""
        raise NotImplementedError

    def decode(self, headers: dict[str, str], body: bytes) -> Any:
        """The body of a request."""
        return json.loads(body or b"null")

    def check(self, path: str, body: Any) -> None:
        """Raise ``AssertionError`` if the wire format does not allow this request."""
        raise NotImplementedError

    def stream_of(self, frames: Sequence[Any]) -> bytes:
        """All bytes of a whole stream."""
        return b"".join(frame if isinstance(frame, bytes) else self.encode(frame) for frame in frames) + self.end

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
            path = first.split(" ")[1]
            body = self.decode(headers, await reader.readexactly(int(headers.get("content-length", "0"))))
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(body)
            try:
                self.check(path, body)
            except AssertionError as error:
                self.refused.append(error)
            await self._answer(self.answers.pop(0), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.client_left.set()
        finally:
            writer.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(answer.late_s)
        if answer.silent:
            if answer.hang:
                await reader.read()
                self.client_left.set()
            return
        body = None if answer.body is None else json.dumps(answer.body).encode()
        lines = [f"HTTP/1.1 {answer.status} X", "connection: close"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        if body is None:
            lines += [f"content-type: {self.stream_type}", "transfer-encoding: chunked"]
        else:
            lines += ["content-type: application/json", f"content-length: {len(body)}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b""))
        if body is None:
            await self._stream(answer, reader, writer)
        await writer.drain()

    async def _stream(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer.cut_at is not None or answer.piece is not None:
            whole = self.stream_of(answer.frames)[: answer.cut_at]
            size = answer.piece or max(1, len(whole))
            pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        else:
            pieces = [frame if isinstance(frame, bytes) else self.encode(frame) for frame in answer.frames]
        for piece in pieces:
            await _chunk(writer, piece)
            await asyncio.sleep(answer.pause_s)
        if answer.hang:
            await reader.read()
            self.client_left.set()
            return
        if answer.drop or (answer.cut_at is not None and not answer.polite):
            return
        if answer.cut_at is None and answer.piece is None:
            await _chunk(writer, self.end)
        writer.write(b"0\r\n\r\n")


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data:
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
