"""The server's end of one connection: a real WebSocket, or a pair of queues that needs no network and no wall clock."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Protocol

from audio.providers.socket import ConnectionEnded, LiveConnection, Message
from realtime.testing.signal import Signal


class Channel(Protocol):
    """What a scripted peer needs of a connection."""

    async def send(self, message: Message) -> None:
        """To the client; nothing happens if it has gone."""
        ...

    async def receive(self) -> Message:
        """From the client. Raises ``ConnectionEnded``."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye."""
        ...

    def cut(self) -> None:
        """Go without a word."""
        ...

    def hear(self, hearing: bool) -> None:
        """Whether messages and pings of the client are taken in. What comes meanwhile waits."""
        ...


class MemoryChannel:
    """Both ends of a connection inside one process; ``client`` is the other one."""

    def __init__(self) -> None:
        self.client: LiveConnection = _MemoryClient(self)
        self.to_client: asyncio.Queue[Message | ConnectionEnded] = asyncio.Queue()
        self.to_server: deque[Message] = deque()
        self.ended: ConnectionEnded | None = None
        self._hearing = True
        self._changed = Signal()

    async def send(self, message: Message) -> None:
        """To the client."""
        if self.ended is None:
            self.to_client.put_nowait(message)

    async def receive(self) -> Message:
        """From the client."""
        await self._changed.until(lambda: (self._hearing and self.to_server) or self.ended)
        if self._hearing and self.to_server:
            return self.to_server.popleft()
        raise self.ended or ConnectionEnded()

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye."""
        self.end(ConnectionEnded(code, reason))

    def cut(self) -> None:
        """Go without a word."""
        self.end(ConnectionEnded(1006))

    def hear(self, hearing: bool) -> None:
        """Whether messages and pings are taken in."""
        self._hearing = hearing
        self._changed.notify()

    def end(self, how: ConnectionEnded) -> None:
        """Either side is gone."""
        if self.ended is None:
            self.ended = how
            self.to_client.put_nowait(how)
            self._changed.notify()

    async def take(self, message: Message) -> None:
        """The client has sent something."""
        if self.ended is not None:
            raise ConnectionEnded(self.ended.code, self.ended.reason)
        self.to_server.append(message)
        self._changed.notify()

    async def answer_ping(self) -> None:
        """Return when a ping would be answered."""
        await self._changed.until(lambda: self._hearing or self.ended)
        if self.ended is not None:
            raise ConnectionEnded(self.ended.code, self.ended.reason)


class _MemoryClient:
    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    async def send(self, message: Message) -> None:
        await self._channel.take(message)

    async def receive(self) -> Message:
        message = await self._channel.to_client.get()
        if isinstance(message, ConnectionEnded):
            self._channel.to_client.put_nowait(message)
            raise ConnectionEnded(message.code, message.reason)
        return message

    async def ping(self) -> None:
        await self._channel.answer_ping()

    async def close(self) -> None:
        self._channel.end(ConnectionEnded(1000))


class SocketChannel:
    """A connection of a real WebSocket server."""

    def __init__(self, socket: object) -> None:
        from websockets.asyncio.server import ServerConnection

        assert isinstance(socket, ServerConnection)
        self._socket = socket

    async def send(self, message: Message) -> None:
        """To the client."""
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(ConnectionClosed):
            await self._socket.send(message)

    async def receive(self) -> Message:
        """From the client."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await self._socket.recv()
        except ConnectionClosed as fault:
            raise ConnectionEnded(fault.rcvd.code if fault.rcvd else 1006) from None

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye."""
        await self._socket.close(code, reason)

    def cut(self) -> None:
        """Go without a word."""
        self._socket.transport.abort()

    def hear(self, hearing: bool) -> None:
        """Whether anything is read of the socket."""
        if hearing:
            self._socket.transport.resume_reading()
        else:
            self._socket.transport.pause_reading()
