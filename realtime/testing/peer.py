"""A scripted provider, over real WebSockets on this machine or in memory on virtual time."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from audio.providers.socket import ConnectionRefused, LiveConnection, Target
from realtime.testing.channel import Channel, MemoryChannel, SocketChannel
from realtime.testing.dialect import Dialect, Violation
from realtime.testing.session import PeerSession
from realtime.testing.steps import Step

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

HANDSHAKE_S = 0.05
"""How long connecting takes in memory, in seconds."""


@dataclass(frozen=True)
class Refuse(Step):
    """The handshake is refused with an HTTP status; the only step of its script."""

    status: int
    words: str = ""


class ScriptedPeer:
    """Plays one script to each client, in the order in which they connect. Strict: a step that is not played, a message
    without a step, one that is none of the protocol, and a client without a script all fail the test.

        peer = ScriptedPeer(OpenAIDialect(), [*openai.accept(), Say(openai.answer("Hello.", pcm)), UntilGone()])
        async with peer.in_memory() as dialler:
            adapter = OpenAIRealtime(dialler=dialler)
            ...

    Args:
        dialect: the protocol.
        scripts: one for each connection.
        ignoring: kinds of messages for which no step is needed.
    """

    def __init__(self, dialect: Dialect, *scripts: Sequence[Step], ignoring: Iterable[str] = ()) -> None:
        self.dialect = dialect
        self.sessions: list[PeerSession] = []
        self.most_at_once = 0
        self._scripts = deque(scripts)
        self._ignoring = frozenset(ignoring)
        self._faults: list[str] = []
        self._running: list[asyncio.Task[None]] = []
        self._open = 0

    @asynccontextmanager
    async def serve(self, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str]:
        """A real server on this machine; yields its address (ws or wss), and checks the scripts at the end."""
        from websockets.asyncio.server import serve

        host = "localhost" if tls is not None else "127.0.0.1"
        async with serve(self._accept, host, 0, ssl=tls, process_request=self._gate, ping_interval=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            try:
                yield f"{'wss' if tls else 'ws'}://{host}:{port}"
            finally:
                # One that hears nothing would not notice that the server closes.
                for session in self.sessions:
                    session.channel.cut()
        self.check()

    @asynccontextmanager
    async def in_memory(self) -> AsyncGenerator[_Dialler]:
        """Yields what adapters take as ``dialler``; at the end clients are closed and the scripts checked."""
        try:
            yield _Dialler(self)
        finally:
            for session in self.sessions:
                await session.channel.close(1001, "the test is over")
            await asyncio.gather(*self._running)
        self.check()

    def check(self) -> None:
        """Raise ``AssertionError`` with everything that was not as the scripts have it."""
        faults = list(self._faults)
        for number, session in enumerate(self.sessions, 1):
            # What follows the first fault is its consequence.
            told = session.faults or [f"not played: {step!r}" for step in session.left]
            faults += [f"connection {number}: {fault}" for fault in told]
        if self._scripts:
            faults.append(f"{len(self._scripts)} scripts were not used")
        if faults:
            raise AssertionError(f"{self.dialect.name} peer: {'; '.join(faults)}")

    def refusal(self, path: str, headers: dict[str, str]) -> Refuse | None:
        """Whether the next client is refused; its script is then used up."""
        try:
            self.dialect.check_request(path, headers)
        except Violation as fault:
            self._faults.append(str(fault))
            return Refuse(HTTPStatus.NOT_FOUND, str(fault))
        if not self._scripts:
            self._faults.append("a client came for whom there is no script")
            return Refuse(HTTPStatus.SERVICE_UNAVAILABLE, "no script")
        first = self._scripts[0][0] if self._scripts[0] else None
        if isinstance(first, Refuse):
            self._scripts.popleft()
            return first
        return None

    def take(self, channel: Channel) -> PeerSession:
        """A session with the next script, which is to be played."""
        session = PeerSession(self.dialect, channel, self._scripts.popleft(), self._ignoring)
        self.sessions.append(session)
        return session

    async def play(self, session: PeerSession) -> None:
        """Play a script until its client is gone."""
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            await session.run()
        finally:
            self._open -= 1

    def start(self, session: PeerSession) -> None:
        """``play`` as a task of the peer's."""
        self._running.append(asyncio.ensure_future(self.play(session)))

    def _gate(self, connection: ServerConnection, request: Request) -> Response | None:
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        refuse = self.refusal(request.path, headers)
        return None if refuse is None else connection.respond(HTTPStatus(refuse.status), refuse.words)

    async def _accept(self, connection: ServerConnection) -> None:
        await self.play(self.take(SocketChannel(connection)))


class _Dialler:
    """Connects to a peer in memory."""

    def __init__(self, peer: ScriptedPeer) -> None:
        self._peer = peer

    async def __call__(self, target: Target) -> LiveConnection:
        await asyncio.sleep(HANDSHAKE_S)
        parts = urlsplit(target.url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        refuse = self._peer.refusal(path, {name.lower(): value for name, value in target.headers.items()})
        if refuse is not None:
            raise ConnectionRefused(refuse.status, refuse.words)
        channel = MemoryChannel()
        self._peer.start(self._peer.take(channel))
        return channel.client
