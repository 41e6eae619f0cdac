"""A session over a WebSocket: opening, sending in order, receiving, noticing silence, and one end."""

from __future__ import annotations

import asyncio
import functools
import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any

import structlog

from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.models.faults import Account
from audio.pcm import Pcm
from audio.providers.outbox import Outbox
from audio.providers.socket import (
    ConnectionEnded,
    ConnectionRefused,
    LiveConnection,
    Target,
    dial,
    json_object,
)
from realtime.s2s import faults
from realtime.s2s.contract import S2SAdapter, S2SError, SessionConfig
from realtime.s2s.events import (
    AgentAudio,
    AgentSpeechStarted,
    AgentSpeechStopped,
    Connected,
    Disconnected,
    HeardSpeech,
    Interrupted,
)
from realtime.s2s.ledger import SpeechLedger
from realtime.s2s.liveness import Fallen, Liveness

log = structlog.get_logger(__name__)

CONNECT_S = 15.0
"""Longest time from dialling to a session that stands, in seconds."""

SessionDial = Callable[[Target], Awaitable[LiveConnection]]
"""Opens a connection. Raises ``ConnectionRefused``."""

dial_patiently: SessionDial = functools.partial(dial, pong_s=None)
"""The network; late pongs are left to ``Liveness``."""


class _State(Enum):
    NEW = "new"
    CONNECTING = "connecting"
    OPEN = "open"
    CLOSED = "closed"


_MOVES = {
    _State.NEW: {_State.CONNECTING, _State.CLOSED},
    _State.CONNECTING: {_State.OPEN, _State.CLOSED},
    _State.OPEN: {_State.CLOSED},
    _State.CLOSED: set[_State](),
}


class SocketSession(S2SAdapter):
    """The part of an adapter that is the same for every provider with a WebSocket.

    Args:
        account: whose faults they are.
        dialler: opens the connection; tests hand over their own.
    """

    mode = "transport"

    def __init__(self, account: Account, dialler: SessionDial | None = None) -> None:
        super().__init__()
        self._account = account
        self._dial = dialler or dial_patiently
        self._state = _State.NEW
        self._connection: LiveConnection | None = None
        self._outbox = Outbox(self.input_format.rate_hz)
        self._scope = Scope(f"s2s/{self.provider}")
        self._ledger = SpeechLedger(lambda: self.heard_ms)
        self._speaking = False
        self._liveness: Liveness
        self.ignored = 0
        """Messages of the provider that could not be understood."""

    @property
    def is_connected(self) -> bool:
        """Between ``Connected`` and ``Disconnected``."""
        return self._state is _State.OPEN

    @property
    def dropped_samples(self) -> int:
        """Samples of the user that were never sent because the connection was too slow."""
        return self._outbox.dropped

    async def connect(self, config: SessionConfig) -> None:
        """Open the session; see the contract."""
        if self._state is not _State.NEW:
            raise RuntimeError("an adapter is connected once; ask it for its successor")
        self._move(_State.CONNECTING)
        try:
            async with asyncio.timeout(CONNECT_S):
                self._connection = await self._dial(await self._target())
                self._still_wanted()
                connected = await self._begin(config)
            self._still_wanted()
        except BaseException as fault:
            await self._give_up()
            if isinstance(fault, Exception) and not isinstance(fault, RuntimeError | GloveError):
                raise self._early(fault) from None
            raise
        self._liveness = Liveness()
        self._move(_State.OPEN)
        # Before anything that came meanwhile is read: the host learns of the session first.
        self.events.emit(connected)
        if self.is_connected:
            self._scope.spawn(self._run(), "session")

    async def disconnect(self) -> None:
        """End the session; idempotent."""
        if self._state is _State.OPEN:
            self._end(Disconnected())
        elif self._state is not _State.CLOSED:
            self._move(_State.CLOSED)
        await self._scope.close()
        await self._close_connection()

    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user; see the contract."""
        if pcm.size and self._state in (_State.CONNECTING, _State.OPEN) and self._takes_sound():
            # A long stretch is cut, so that a slow connection drops pieces of it and not all.
            for start in range(0, pcm.size, self.input_format.rate_hz):
                piece = pcm[start : start + self.input_format.rate_hz]
                self._outbox.put(json.dumps(self._audio_message(piece)), piece.size)

    @abstractmethod
    async def _target(self) -> Target:
        """Where to connect. Raises ``S2SError``."""

    @abstractmethod
    async def _begin(self, config: SessionConfig) -> Connected:
        """Talk with the provider until it has taken the settings and the history."""

    @abstractmethod
    def _handle(self, message: Mapping[str, Any]) -> None:
        """Act on a message. Raises ``ValueError`` if it is malformed."""

    @abstractmethod
    def _audio_message(self, pcm: Pcm) -> Mapping[str, Any]:
        """Sound as a message."""

    @abstractmethod
    def _takes_sound(self) -> bool:
        """Whether sound is wanted at this moment."""

    def _send(self, message: Mapping[str, Any]) -> None:
        """Send in order, if there is a session."""
        if self.is_connected:
            self._outbox.put(json.dumps(message))

    async def _send_now(self, message: Mapping[str, Any]) -> None:
        """Send while the session is being opened."""
        assert self._connection is not None
        await self._connection.send(json.dumps(message))

    async def _receive(self) -> Mapping[str, Any]:
        """The next message while the session is being opened."""
        assert self._connection is not None
        return json_object(await self._connection.receive())

    def _spoke(self, pcm: Pcm, item_id: str) -> None:
        """The provider sent speech of the agent."""
        if not pcm.size:
            return
        self._ledger.sent(item_id, pcm.size * 1000 / self.output_format.rate_hz)
        if not self._speaking:
            self._speaking = True
            self.events.emit(AgentSpeechStarted())
        self.events.emit(AgentAudio(pcm, self.output_format.rate_hz, item_id))

    def _spoken(self) -> None:
        """The provider has sent the whole of an answer."""
        if self._speaking:
            self._speaking = False
            self.events.emit(AgentSpeechStopped())

    def _silence_agent(self) -> None:
        """Tell the provider what was heard, then the host that playing ends: a listener may send the next thing."""
        unheard = self._ledger.interrupted()
        for speech in unheard:
            self._truncate(speech)
        self.events.emit(Interrupted(unheard))
        self._spoken()

    def _truncate(self, speech: HeardSpeech) -> None:
        """Cut the model's memory of what it said to what was heard, where the provider can do that."""

    def _still_wanted(self) -> None:
        if self._state is _State.CLOSED:
            raise S2SError("ERR_S2S_CONNECTION", "The session was given up while it was being opened.")

    def _move(self, state: _State) -> None:
        assert state in _MOVES[self._state], f"{self._state} to {state}"
        self._state = state

    def _early(self, fault: Exception) -> S2SError:
        if isinstance(fault, ConnectionRefused):
            return faults.refused(fault, self._account)
        if isinstance(fault, ConnectionEnded):
            return faults.closed_early(fault, self._account)
        words = "it did not answer in time" if isinstance(fault, TimeoutError) else type(fault).__name__
        return S2SError(
            "ERR_S2S_CONNECTION", f"{self._account.provider} could not be reached ({words}).", "Check the network."
        )

    async def _give_up(self) -> None:
        if self._state is not _State.CLOSED:
            self._move(_State.CLOSED)
        self._outbox.clear()
        await self._close_connection()

    async def _close_connection(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def _end(self, event: Disconnected) -> None:
        self._move(_State.CLOSED)
        self._outbox.clear()
        self.events.emit(event)

    async def _run(self) -> None:
        """The session, until it ends."""
        assert self._connection is not None
        connection = self._connection
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(connection))
                group.create_task(self._write(connection))
                group.create_task(self._liveness.watch(connection.ping))
        except* ConnectionEnded as ended:
            fault = _first(ended)
            assert isinstance(fault, ConnectionEnded)
            error = faults.ended(fault, self._account)
            self._over(Disconnected(fault.code, self._account.clean(fault.reason), error))
        except* Fallen as fallen:
            how = str(_first(fallen))
            self._over(Disconnected(1006, how, faults.fell_silent(how, self._account)))
        finally:
            # Whatever else broke: a host that is told can go on, one that is not waits for ever.
            how = "its messages could not be handled"
            self._over(Disconnected(1006, how, faults.fell_silent(how, self._account)))
            await self._close_connection()

    def _over(self, event: Disconnected) -> None:
        if self._state is _State.OPEN:
            self._end(event)

    async def _read(self, connection: LiveConnection) -> None:
        while True:
            message = json_object(await connection.receive())
            self._liveness.heard()
            if not self.is_connected:
                return
            try:
                self._handle(message)
            except ValueError as fault:
                self.ignored += 1
                log.warning("message not understood", provider=self.provider, error=type(fault).__name__)

    async def _write(self, connection: LiveConnection) -> None:
        while True:
            await connection.send(await self._outbox.get())


def _first(group: BaseExceptionGroup[Exception]) -> BaseException:
    """One of the exceptions in ``group``."""
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
