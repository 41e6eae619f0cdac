"""A bad network in between: what goes through is late, lost, or overtaken, as told and repeatably."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

Address = tuple[str, int]


@dataclass(frozen=True)
class Weather:
    """What happens to each packet, in either direction.

    Attributes:
        delay_s: how long it takes.
        jitter_s: up to so much longer, so that some overtake others.
        loss: share that never arrives.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0


class _Side(asyncio.DatagramProtocol):
    """One end of the relay: what comes in here goes out at the other end, to whoever spoke there last."""

    def __init__(self, weather: Weather, seed: int) -> None:
        self.weather = weather
        self.chance = random.Random(seed)
        self.other: _Side | None = None
        self.peer: Address | None = None
        self.taken = self.lost = 0
        self.transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self.peer = self.peer or addr
        self.taken += 1
        if self.chance.random() < self.weather.loss:
            self.lost += 1
            return
        late = self.weather.delay_s + self.chance.random() * self.weather.jitter_s
        asyncio.get_running_loop().call_later(late, self._pass_on, data)

    def _pass_on(self, data: bytes) -> None:
        assert self.other is not None and self.other.transport is not None
        if self.other.peer is not None and not self.other.transport.is_closing():
            self.other.transport.sendto(data, self.other.peer)


@asynccontextmanager
async def udp_relay(weather: Weather, target: Address) -> AsyncGenerator[tuple[int, _Side]]:
    """A port on loopback that leads to ``target`` and back, and the side that callers reach, with its counters."""
    loop = asyncio.get_running_loop()
    near, far = _Side(weather, 1), _Side(weather, 2)
    near.other, far.other, far.peer = far, near, target
    for side in (near, far):
        await loop.create_datagram_endpoint(lambda side=side: side, local_addr=("127.0.0.1", 0))
    assert near.transport is not None and far.transport is not None
    try:
        yield near.transport.get_extra_info("sockname")[1], near
    finally:
        near.transport.close()
        far.transport.close()


async def _carry(weather: Weather, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    on_their_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(10_000)

    async def bring() -> None:
        while True:
            due, data = await on_their_way.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            writer.write(data)
            await writer.drain()

    bringing = asyncio.create_task(bring())
    try:
        while data := await reader.read(65_536):
            await on_their_way.put((loop.time() + weather.delay_s, data))
    finally:
        bringing.cancel()
        writer.close()


@asynccontextmanager
async def tcp_relay(weather: Weather, port: int) -> AsyncGenerator[int]:
    """A port on loopback that leads to ``port`` and back; TCP loses and reorders nothing, it is only late."""
    carrying: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        for pair in ((reader, back), (there, writer)):
            task = asyncio.create_task(_carry(weather, *pair))
            carrying.add(task)
            task.add_done_callback(carrying.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(carrying):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await task
