"""One connection of a caller: what waits to be sent, what may be received."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from realtime.browser.lead_player import Order
from realtime.browser.limits import TokenBucket
from realtime.browser.protocol import MAX_MESSAGE_BYTES, RATE_HZ, BadMessage, ClientMessage, Close, parse
from realtime.browser.wire import Message, encode

log = structlog.get_logger(__name__)

MOST_WAITING = 1000
"""Messages that may wait for a caller who does not read (about 15 s of a reply) before the connection is closed."""

SEND_LIMIT_S = 10.0
"""Longest time that sending one message may take."""

CLOSE_LIMIT_S = 1.0
"""Longest time for saying goodbye."""

SOUND_BYTES_PER_S = 4 * RATE_HZ
SOUND_BURST_BYTES = 20 * RATE_HZ
"""Sound is accepted at twice its own pace, and ten seconds of it at once after the network stood still."""

MESSAGES_PER_S = 50.0
MESSAGES_BURST = 200.0

MOST_FAULTS = 10
"""Messages of no sense before the connection is closed."""


class Socket(Protocol):
    """A WebSocket that is open. A peer that has gone makes ``receive`` return None and ``send`` raise ``OSError``."""

    async def receive(self) -> str | bytes | None:
        """The next message, or None when the connection is over."""
        ...

    async def send(self, data: str | bytes) -> None:
        """Send one message."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """End the connection; idempotent."""
        ...


@runtime_checkable
class PacedSocket(Protocol):
    """A ``Socket`` that keeps sound until it is due, instead of bringing it to the caller at once."""

    def order(self, order: Order) -> None:
        """Hold the sound, let it go on, or forget it, at once."""
        ...


class Caller:
    """Sends in order, reads within limits, and ends for one reason only.

    Args:
        socket: the connection.
        on_sound: called with sound of the caller, a whole number of samples.
        on_message: called with each valid message.
        epoch: number of the last clear, which a clear carries.
        turn: number of the reply in progress, which its end carries.
        sent: samples sent since the last clear, which the end of a reply carries.
    """

    def __init__(
        self,
        socket: Socket,
        on_sound: Callable[[bytes], None],
        on_message: Callable[[ClientMessage], Awaitable[None]],
        *,
        epoch: Callable[[], int],
        turn: Callable[[], int],
        sent: Callable[[], int],
    ) -> None:
        self._socket = socket
        self._epoch = epoch
        self._turn = turn
        self._sent = sent
        self._on_sound = on_sound
        self._on_message = on_message
        self._waiting: deque[str | bytes] = deque()
        self._news = asyncio.Event()
        self._scope = Scope("caller")
        self._closed = False
        self._reader: asyncio.Task[None] | None = None
        self._faults = 0
        self._sound_left = TokenBucket(SOUND_BYTES_PER_S, SOUND_BURST_BYTES, clock.now)
        self._messages_left = TokenBucket(MESSAGES_PER_S, MESSAGES_BURST, clock.now)

    def post(self, message: Message) -> None:
        """Send ``message`` after what waits already."""
        self._put(encode(message))

    def sound(self, data: bytes) -> None:
        """See ``realtime.browser.room.Listener``."""
        self._put(data)

    def order(self, order: Order) -> None:
        """See ``realtime.browser.room.Listener``. Sound that waits is forgotten with the sound that was sent."""
        if isinstance(self._socket, PacedSocket):
            self._socket.order(order)
        message: Message = {"t": order.value}
        if order is Order.CLEAR:
            self._waiting = deque(data for data in self._waiting if isinstance(data, str))
            message["epoch"] = self._epoch()
        elif order is Order.END:
            message["turnId"] = self._turn()
            message["position"] = self._sent()
        self.post(message)

    def _put(self, data: str | bytes) -> None:
        if self._closed:
            return
        if len(self._waiting) >= MOST_WAITING:
            self.end(Close.TOO_MUCH, "the sound is not being read")
            return
        self._waiting.append(data)
        self._news.set()

    async def _send(self) -> None:
        try:
            while True:
                while self._waiting:
                    async with asyncio.timeout(SEND_LIMIT_S):
                        await self._socket.send(self._waiting.popleft())
                self._news.clear()
                await self._news.wait()
        except TimeoutError:
            self.end(Close.TOO_MUCH, "the messages are not being read")
        except OSError as fault:
            log.debug("a caller has gone", error=str(fault))
        except Exception:
            # Whoever is not told anything any more must not be left to wait.
            log.exception("a message could not be sent")
            self._waiting.clear()
            self.end(Close.FAULT, "a message could not be sent")

    async def run(self) -> None:
        """Serve the connection until it ends."""
        self._scope.spawn(self._send(), "send")
        self._reader = self._scope.spawn(self._read(), "read")
        try:
            await asyncio.wait([self._reader])
        finally:
            self._closed = True
            await self._scope.close()

    async def _read(self) -> None:
        while not self._closed and (data := await self._socket.receive()) is not None:
            await self._take(data)

    async def _take(self, data: str | bytes) -> None:
        if len(data) > MAX_MESSAGE_BYTES:
            await self.close(1009, "a message is too big")
        elif not self._messages_left.take(0.2 if isinstance(data, bytes) else 1.0):
            await self.close(Close.TOO_MUCH, "too many messages")
        elif isinstance(data, bytes):
            await self._take_sound(data)
        else:
            await self._take_text(data)

    async def _take_sound(self, data: bytes) -> None:
        if len(data) % 2:
            await self._fault(Close.NOT_PCM, "ERR_NOT_PCM", "Sound is sent as 16-bit samples, two bytes each.")
        elif not self._sound_left.take(len(data)):
            await self.close(Close.TOO_MUCH, "sound comes faster than anybody speaks")
        elif data:
            self._on_sound(data)

    async def _take_text(self, text: str) -> None:
        try:
            message = parse(text)
        except BadMessage as fault:
            await self._fault(Close.NOT_JSON, "ERR_BAD_MESSAGE", f"A message was not understood ({fault}).")
            return
        try:
            await self._on_message(message)
        except GloveError as fault:
            log.warning("what a caller asked for failed", code=fault.code, error=fault.message)
            self.post({"t": "error", "code": fault.code, "message": str(fault)})

    async def _fault(self, code: Close, name: str, text: str) -> None:
        self._faults += 1
        if self._faults >= MOST_FAULTS:
            await self.close(code, "too many messages that make no sense")
        else:
            self.post({"t": "error", "code": name, "message": text})

    def end(self, code: int, reason: str) -> None:
        """``close`` for callers that cannot wait."""
        if not self._closed and not self._scope.closed:
            self._scope.spawn(self.close(code, reason), "close")

    async def close(self, code: int, reason: str) -> None:
        """End the connection, giving what waits a moment to leave; idempotent."""
        if self._closed:
            return
        self._closed = True
        polite = await self._in_time(self._last_words()) and await self._in_time(self._socket.close(code, reason))
        if not polite and self._reader is not None and self._reader is not asyncio.current_task():
            self._reader.cancel()

    async def _last_words(self) -> None:
        waiting, self._waiting = self._waiting, deque[str | bytes]()
        for message in [data for data in waiting if isinstance(data, str)]:
            await self._socket.send(message)

    async def _in_time(self, work: Awaitable[None]) -> bool:
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await work
        except (OSError, TimeoutError) as fault:
            log.debug("a connection could not be closed politely", error=repr(fault))
            return False
        return True
