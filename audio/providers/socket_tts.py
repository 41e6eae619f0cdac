"""One spoken response over a WebSocket: what all services have in common.

A connection serves one response. What is sent before it is open waits in order, the request for the end included, so
that no reply falls silent because it was short.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Protocol

import structlog

from agents.base import clock
from agents.base.errors import GloveVoiceError, InputError
from agents.base.scope import Scope
from agents.models.faults import Account
from audio.providers import faults
from audio.providers.outbox import Outbox
from audio.providers.socket import Connection, ConnectionEnded, ConnectionRefused, Dial, Message, Target, dial
from audio.tts.base import AudioChunk, TtsAdapter, TtsDone, TtsEvent, TtsFault, as_voice_error
from audio.tts.local import MAX_WAITING_CHARS

log = structlog.get_logger(__name__)


class TtsWire(Protocol):
    """What one service writes and reads for one response.

    Attributes:
        account: whose faults are named.
        rate_hz: rate of the sound.
        keep_alive_s: longest pause in seconds that the service takes without closing.
    """

    account: Account
    rate_hz: int
    keep_alive_s: float

    async def target(self) -> Target:
        """Where to connect now. Raises ``GloveError`` when that cannot be found out (no token)."""
        ...

    def begin(self) -> Sequence[Message]:
        """What comes first."""
        ...

    def text(self, text: str) -> Sequence[Message]:
        """The next piece of text, to be spoken at once."""
        ...

    def end(self) -> Sequence[Message]:
        """No more text will come."""
        ...

    def keep_alive(self) -> Message:
        """A message that makes no sound and keeps the connection open."""
        ...

    def read(self, message: Message) -> Sequence[TtsEvent]:
        """What ``message`` says: ``AudioChunk``, ``PieceDone``, ``TtsDone`` (last) or ``TtsFault`` (last)."""
        ...

    def rest(self) -> Sequence[TtsEvent]:
        """What is still to be said when the connection ends as if all sound had come."""
        ...


class SocketTts(TtsAdapter):
    """A voice over a WebSocket.

    Args:
        wire: what the service speaks; of this response alone.
        reports_pieces: whether the service says when a piece is over soon enough to keep pace with it.
        dial: opens connections.
    """

    def __init__(self, wire: TtsWire, *, reports_pieces: bool, dial: Dial = dial) -> None:
        super().__init__()
        self.reports_pieces = reports_pieces
        self._wire = wire
        self._dial = dial
        self._scope = Scope(f"voice of {wire.account.provider}")
        self._outbox = Outbox()
        self._begun = False
        self._chars = 0
        self._sounded = False
        self._flushed = False
        self._ready = False
        self._destroyed = False
        self._over = False
        self._sent_at = 0.0

    @property
    def sample_rate_hz(self) -> int:
        """See ``TtsAdapter``."""
        return self._wire.rate_hz

    @property
    def is_ready(self) -> bool:
        """See ``TtsAdapter``."""
        return self._ready and not self._destroyed

    async def open(self) -> None:
        """Connect; what was sent before follows.

        Raises:
            GloveVoiceError: ``ERR_TTS_CONNECTION``, ``ERR_TTS_AUTH``, ``ERR_TTS_LIMIT``, ``ERR_TTS_REQUEST``.
        """
        if self._ready or self._destroyed:
            return
        connection = await self._connect()
        if self._destroyed:
            await connection.close()
            return
        self._ready = True
        self._sent_at = clock.now()
        self._scope.spawn(self._serve(connection), "session")

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """See ``TtsAdapter``; every piece is spoken at once, so ``flush`` changes nothing.

        Ignored after ``destroy``. Raises ``InputError`` (``ERR_TTS_TEXT_TOO_LONG``) beyond a million characters in one
        response, ``RuntimeError`` after ``flush``.
        """
        if self._destroyed:
            return
        if self._flushed:
            raise RuntimeError("text was sent to a voice after its flush")
        self._chars += len(text)
        if self._chars > MAX_WAITING_CHARS:
            raise InputError("ERR_TTS_TEXT_TOO_LONG", f"A response has more than {MAX_WAITING_CHARS} characters.")
        self._put(self._wire.text(text))

    def flush(self) -> None:
        """See ``TtsAdapter``; idempotent."""
        if not self._flushed and not self._destroyed:
            self._flushed = True
            self._put(self._wire.end())

    async def destroy(self) -> None:
        """See ``TtsAdapter``."""
        self._destroyed = True
        self._outbox.clear()
        await self._scope.close()

    async def _connect(self) -> Connection:
        try:
            return await self._dial(await self._wire.target())
        except ConnectionRefused as fault:
            error = faults.refused(fault, "TTS", self._wire.account)
        raise error

    def _put(self, messages: Sequence[Message]) -> None:
        if not self._begun:
            self._begun = True
            messages = [*self._wire.begin(), *messages]
        for message in messages:
            self._outbox.put(message)

    async def _serve(self, connection: Connection) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._write(connection)), group.create_task(self._keep_alive())]
                await self._read(connection)
                for task in tasks:
                    task.cancel()
        except* ConnectionEnded as ended:
            first = ended.exceptions[0]
            self._ended(first if isinstance(first, ConnectionEnded) else ConnectionEnded())
        except* Exception as failed:
            log.exception("a voice's message was not understood", provider=self._wire.account.provider)
            self._emit(TtsFault(as_voice_error(failed.exceptions[0])))
        finally:
            self._ready = False
            with contextlib.suppress(ConnectionEnded):
                await connection.close()

    async def _read(self, connection: Connection) -> None:
        """Emit what comes, until all has been said."""
        while not self._over and not self._destroyed:
            for event in self._wire.read(await connection.receive()):
                self._emit(event)

    async def _write(self, connection: Connection) -> None:
        if not self._begun:
            self._put([])
        while True:
            await connection.send(await self._outbox.get())
            self._sent_at = clock.now()

    async def _keep_alive(self) -> None:
        while not self._flushed:
            sent_at = self._sent_at
            await clock.sleep_until(sent_at + self._wire.keep_alive_s)
            if not self._flushed and self._sent_at == sent_at:
                self._sent_at = clock.now()
                self._outbox.put(self._wire.keep_alive())

    def _ended(self, end: ConnectionEnded) -> None:
        """The service closed. If everything was asked for and something came, that was all of it."""
        if self._over:
            return
        if self._flushed and self._sounded:
            for event in self._wire.rest():
                self._emit(event)
            self._emit(TtsDone())
            return
        fault = faults.ended(end, "TTS", self._wire.account)
        code = fault.code if self._sounded else "ERR_TTS_CONNECTION"
        when = "" if self._sounded else " before any sound came"
        self._emit(TtsFault(GloveVoiceError(code, f"{fault.message[:-1]}{when}.", "Check the voice and the account.")))

    def _emit(self, event: TtsEvent) -> None:
        if self._destroyed or self._over:
            return
        self._sounded = self._sounded or isinstance(event, AudioChunk)
        self._over = isinstance(event, TtsDone | TtsFault)
        if isinstance(event, TtsFault):
            log.warning("voice failed", provider=self._wire.account.provider, error=str(event.error))
        self.events.emit(event)
