"""Connections in memory, on virtual time: a service is a function of what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from audio.providers.socket import ConnectionEnded, ConnectionRefused, Message, Target

HANDSHAKE_S = 0.2


class FakeConnection:
    """The client's end, and the handles of the service's. ``sent`` is what the client said."""

    def __init__(self, service: FakeService, target: Target) -> None:
        self.service = service
        self.target = target
        self.sent: list[Message] = []
        self.closed_by_client = False
        self.open = True
        self.mute = False
        self._inbox: asyncio.Queue[Message | ConnectionEnded] = asyncio.Queue()
        self._last_at = 0.0

    async def send(self, message: Message) -> None:
        await asyncio.sleep(0)
        if not self.open:
            raise ConnectionEnded(1006)
        self.sent.append(message)
        self.service.heard(self, message)

    async def receive(self) -> Message:
        item = await self._inbox.get()
        if isinstance(item, ConnectionEnded):
            raise item
        return item

    async def close(self) -> None:
        self.closed_by_client = self.closed_by_client or self.open
        self.open = False
        self._inbox.put_nowait(ConnectionEnded(1000))

    def push(self, message: Message, *, after_s: float = 0.0) -> None:
        """Say something to the client, unless the connection is half open; what is said earlier arrives earlier."""
        if after_s:
            loop = asyncio.get_running_loop()
            self._last_at = max(loop.time() + after_s, self._last_at + 0.001)
            loop.call_at(self._last_at, self.push, message)
        elif self.open and not self.mute:
            self._inbox.put_nowait(message)

    def drop(self, code: int = 1006, reason: str = "") -> None:
        """End the connection from the service's side."""
        self.open = False
        self._inbox.put_nowait(ConnectionEnded(code, reason))


class FakeService:
    """Accepts connections. ``refusals`` are raised by the next handshakes, in order; ``down`` refuses all."""

    def __init__(self) -> None:
        self.connections: list[FakeConnection] = []
        self.dialled_at: list[float] = []
        self.refusals: list[ConnectionRefused] = []
        self.down = False

    @property
    def connection(self) -> FakeConnection:
        """The newest one."""
        return self.connections[-1]

    async def dial(self, target: Target) -> FakeConnection:
        self.dialled_at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(HANDSHAKE_S)
        if self.down:
            raise ConnectionRefused(None, "OSError")
        if self.refusals:
            raise self.refusals.pop(0)
        connection = FakeConnection(self, target)
        self.connections.append(connection)
        self.opened(connection)
        return connection

    def opened(self, connection: FakeConnection) -> None:
        """A client has connected."""

    def heard(self, connection: FakeConnection, message: Message) -> None:
        """A client has said something."""


def checked(told: dict[str, Any], *kinds: type[BaseModel]) -> str:
    """``told`` as JSON, if it is a message of one of ``kinds``: known fields only, with the right types."""
    faults: list[str] = []
    for kind in kinds:
        names = {field.alias or name for name, field in kind.model_fields.items()}
        unknown = set(told) - names
        if unknown:
            faults.append(f"{kind.__name__} has no {sorted(unknown)}")
            continue
        try:
            TypeAdapter(kind).validate_python(told, strict=True)
        except ValueError as fault:
            faults.append(f"{kind.__name__}: {fault}")
        else:
            return json.dumps(told)
    raise AssertionError(f"no message of the service: {told} ({'; '.join(faults)})")


def collect(emitter: Any, kind: type[Any]) -> list[Any]:
    """A list that receives each event of ``kind``."""
    events: list[Any] = []
    emitter.on(kind, events.append)
    return events


Answer = Callable[[str], list[dict[str, Any]]]
