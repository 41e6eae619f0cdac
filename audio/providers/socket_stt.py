"""The running session of any recogniser behind a WebSocket: what all services have in common.

The session keeps its connection alive, notices when the service has stopped answering although the connection stands,
and connects again. What was said and not yet answered is then said again, so that a lost connection costs time but no
words.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

import numpy as np
import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ as RATE_HZ
from audio.pcm import Pcm, ms_to_samples
from audio.providers import faults
from audio.providers.outbox import Outbox
from audio.providers.socket import Connection, ConnectionEnded, ConnectionRefused, Dial, dial
from audio.providers.stt_wire import Lost, SttWire
from audio.providers.utterance import Unanswered
from audio.stt.base import StreamingStt, SttClosed, SttEvent, SttFault, SttFinal, SttPartial

log = structlog.get_logger(__name__)

CHUNK_MS = 40
"""Sound is sent in chunks of this length: a message every 10 ms would cost more than it gains."""

STALE_S = 6.0
"""A service that has said nothing for so long since it was sent speech, or was asked for a final, is lost."""

TELLING_S = 3.0
"""So much speech makes every service say something."""

MOST_PATIENCE = 128
"""How many times longer a service may have nothing to say about sound that seems to hold no words."""

WATCH_S = 1.0
"""How often the session looks after its connection, in seconds."""

RECONNECTS = 3
"""Attempts before a session gives up; each minute of health gives one back."""


class SocketStt(StreamingStt):
    """A streaming recogniser over a WebSocket.

    ``SttFault`` is emitted once per time of trouble, when the first attempt to connect again has failed; routine closes
    of an idle connection are not worth a word. ``SttClosed`` follows when the attempts are used up or pointless.

    Args:
        wire: what the service speaks.
        backoff: delays between attempts and how many there are; without end where its budget is None.
        stale_s: how long the service may owe an answer, in seconds.
        tells: whether the service says something about much sound before it is asked for a final.
        dial: opens connections.
    """

    def __init__(
        self,
        wire: SttWire,
        *,
        backoff: Backoff | None = None,
        stale_s: float = STALE_S,
        tells: bool = True,
        dial: Dial = dial,
    ) -> None:
        super().__init__()
        self._wire = wire
        self._backoff = backoff or Backoff(first_s=0.5, cap_s=15.0, budget=RECONNECTS)
        self._stale_s = stale_s
        self._tells = tells
        self._dial = dial
        self._scope: Scope | None = None
        self._connected = False
        self._troubled = False
        self._partial = ""
        self._unanswered = Unanswered()
        self._outbox = Outbox()
        self._waiting: list[Pcm] = []
        self._waiting_samples = 0
        self._since_answer = 0
        self._unanswered_at: float | None = None
        self._sent_at = 0.0
        self._patience = 1

    @property
    def is_connected(self) -> bool:
        """See ``StreamingStt``."""
        return self._connected

    @property
    def current_partial(self) -> str:
        """See ``StreamingStt``."""
        return self._partial

    @property
    def dropped_samples(self) -> int:
        """Samples that were never sent because the connection was too slow or away for too long."""
        return self._outbox.dropped + self._unanswered.forgotten

    async def connect(self) -> None:
        """Open the session; no effect while there is one.

        Raises:
            GloveVoiceError: ``ERR_STT_CONNECTION``, ``ERR_STT_AUTH``, ``ERR_STT_LIMIT``, ``ERR_STT_REQUEST``.
        """
        if self._scope is not None:
            return
        self._backoff.reset()
        scope = self._scope = Scope(f"stt of {self._wire.account.provider}")
        try:
            connection = await self._open()
        except BaseException:
            if self._scope is scope:
                self._scope = None
            raise
        if self._scope is not scope:
            await connection.close()
            raise GloveVoiceError("ERR_STT_CONNECTION", "The recogniser was disconnected while it connected.")
        self._connected = True
        self._sent_at = clock.now()
        scope.spawn(self._run(scope, connection), "session")

    def send_audio(self, pcm: Pcm) -> None:
        """Feed audio. It waits, bounded, while the session connects again; without a session it is dropped."""
        if self._scope is None or not pcm.size:
            return
        self._unanswered.add(pcm)
        if not self._connected:
            return
        self._waiting.append(pcm)
        self._waiting_samples += pcm.size
        if self._waiting_samples >= ms_to_samples(CHUNK_MS, RATE_HZ):
            self._post_waiting()

    def flush_utterance(self) -> None:
        """Ask for the final of what was fed so far; where nothing was fed, it is empty and comes at once."""
        if not self._unanswered.fresh:
            if not self._unanswered.owed:
                self._emit_final(SttFinal(""))
            return
        self._unanswered.ask()
        if self._connected:
            self._post_waiting()
            self._post_finish()

    async def disconnect(self) -> None:
        """See ``StreamingStt``. Nothing is emitted afterwards."""
        scope, self._scope = self._scope, None
        self._connected = self._troubled = False
        self._partial = ""
        self._unanswered.clear()
        if scope is not None:
            await scope.close()

    async def _open(self) -> Connection:
        try:
            return await self._dial(await self._wire.target())
        except ConnectionRefused as fault:
            error = faults.refused(fault, "STT", self._wire.account)
        raise error

    async def _run(self, scope: Scope, connection: Connection) -> None:
        """Serve one connection after the other until the attempts are used up."""
        current: Connection | None = connection
        while current is not None:
            began = clock.now()
            fault = await self._serve(scope, current)
            self._connected = False
            self._backoff.healthy(clock.now() - began)
            if self._scope is not scope:
                return
            log.info("connection to a recogniser ended", provider=self._wire.account.provider, code=fault.code)
            current = await self._open_again(fault)
        if self._scope is scope:
            self._scope = None
            self._unanswered.clear()
            self.events.emit(SttClosed())

    async def _open_again(self, fault: GloveVoiceError) -> Connection | None:
        """The next connection; None when there is none to be had."""
        while not faults.lasting(fault) and not self._backoff.exhausted:
            await asyncio.sleep(self._backoff.next_delay())
            try:
                return await self._open()
            except GloveVoiceError as refusal:
                fault = refusal
                self._tell(fault)
            except Exception as failure:  # noqa: BLE001 - whoever hands out tokens may fail in any way
                fault = GloveVoiceError("ERR_STT_CONNECTION", f"No access to {self._wire.account.provider}.", None)
                log.warning("no access to a recogniser", error=self._wire.account.clean(repr(failure)))
                self._tell(fault)
        self._tell(fault)
        return None

    def _tell(self, fault: GloveVoiceError) -> None:
        if not self._troubled:
            self._troubled = True
            log.warning("recogniser in trouble", code=fault.code, error=fault.message)
            self.events.emit(SttFault(fault))

    async def _serve(self, scope: Scope, connection: Connection) -> GloveVoiceError:
        """Use ``connection`` until it ends; returns why."""
        fault: GloveVoiceError | None = None
        self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(scope, connection))
                group.create_task(self._write(connection))
                group.create_task(self._watch())
        except* _Over as over:
            first = over.exceptions[0]
            fault = first.fault if isinstance(first, _Over) else None
        except* Exception:
            # Whatever a service or an adapter comes up with: a session that ended of it would be deaf for ever.
            provider = self._wire.account.provider
            log.exception("a connection to a recogniser failed", provider=provider)
            fault = GloveVoiceError("ERR_STT_DISCONNECTED", f"{provider} was not understood.", "It is asked again.")
        finally:
            self._connected = False
            with contextlib.suppress(ConnectionEnded):
                await connection.close()
        assert fault is not None
        return fault

    def _begin(self) -> None:
        """Start on a new connection, with what the last one did not answer."""
        self._wire.begin()
        self._outbox.clear()
        self._since_answer, self._unanswered_at = 0, None
        self._sent_at = clock.now()
        self._connected = True
        asked, fresh = self._unanswered.replay()
        for utterance in asked:
            self._waiting = utterance
            self._post_waiting()
            self._post_finish()
        self._waiting = fresh
        self._post_waiting()

    async def _read(self, scope: Scope, connection: Connection) -> NoReturn:
        while True:
            try:
                message = await connection.receive()
            except ConnectionEnded as end:
                raise _Over(faults.ended(end, "STT", self._wire.account)) from None
            self._since_answer, self._unanswered_at = 0, None
            for event in self._wire.read(message):
                self._take(event)
                if self._scope is not scope:
                    raise _Over(GloveVoiceError("ERR_STT_DISCONNECTED", "The recogniser was disconnected."))

    async def _write(self, connection: Connection) -> NoReturn:
        while True:
            message = await self._outbox.get()
            try:
                await connection.send(message)
            except ConnectionEnded as end:
                raise _Over(faults.ended(end, "STT", self._wire.account)) from None

    async def _watch(self) -> NoReturn:
        """Keep the connection alive, and find out whether the service still is: a pong says nothing about that."""
        while True:
            await asyncio.sleep(WATCH_S)
            now = clock.now()
            if now - self._sent_at >= self._wire.keep_alive_s - WATCH_S:
                self._outbox.put(self._wire.keep_alive())
                self._sent_at = now
            if self._unanswered_at is not None and self._is_stale(now - self._unanswered_at):
                provider = self._wire.account.provider
                raise _Over(GloveVoiceError("ERR_STT_DISCONNECTED", f"{provider} stopped answering."))

    def _is_stale(self, silent_s: float) -> bool:
        """Whether the service owes an answer for too long.

        What was asked for is owed. So is a word about much sound; but that may hold no words, so each time that a new
        connection has nothing to say either, more patience is shown.
        """
        if self._unanswered.owed:
            return silent_s >= self._stale_s
        if not self._tells or self._since_answer < TELLING_S * RATE_HZ or silent_s < self._stale_s * self._patience:
            return False
        self._patience = min(MOST_PATIENCE, self._patience * 2)
        return True

    def _take(self, event: SttEvent) -> None:
        match event:
            case Lost():
                raise _Over(event.error)
            case SttPartial():
                self._healthy()
                # What comes with nothing owed repeats what was committed, or dreams of the silence.
                if self._unanswered.owed or self._unanswered.fresh:
                    self._partial = event.text.strip()
                    self.events.emit(SttPartial(self._partial))
            case SttFinal():
                self._healthy()
                self._emit_final(event)
            case SttFault():
                self._unanswered.answered()  # sent again, it would be refused again
                self.events.emit(event)
            case _:
                pass

    def _healthy(self) -> None:
        self._troubled = False
        self._patience = 1

    def _emit_final(self, event: SttFinal) -> None:
        text = event.text.strip() or self._partial
        self._partial = ""
        self._unanswered.answered()
        self.events.emit(SttFinal(text, event.language))

    def _post_waiting(self) -> None:
        if not self._waiting:
            return
        pcm = np.concatenate(self._waiting)
        self._waiting, self._waiting_samples = [], 0
        for start in range(0, pcm.size, RATE_HZ):
            piece = pcm[start : start + RATE_HZ]
            self._outbox.put(self._wire.audio(piece), piece.size)
        self._since_answer += pcm.size
        self._sent(clock.now())

    def _post_finish(self) -> None:
        for message in self._wire.finish():
            self._outbox.put(message)
        self._sent(clock.now())

    def _sent(self, now: float) -> None:
        self._sent_at = now
        if self._unanswered_at is None:
            self._unanswered_at = now


class _Over(Exception):
    """A connection is over; ``fault`` says why."""

    def __init__(self, fault: GloveVoiceError) -> None:
        super().__init__(fault.message)
        self.fault = fault
