"""Two recognisers: where the first is in trouble, the second answers, and no utterance is lost."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
import structlog

from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.providers.standby import OnTrouble, Standby
from audio.stt.base import (
    SegmentStt,
    StreamingStt,
    Stt,
    SttClosed,
    SttEvent,
    SttFault,
    SttFinal,
    SttPartial,
    Transcript,
)

log = structlog.get_logger(__name__)

SEGMENT_PATIENCE_S = 5.0
"""How long the first may take for a whole utterance, in seconds."""

STREAM_PATIENCE_S = 1.5
"""How long the first may take for a final after a flush, in seconds; the second needs time too."""

CONNECT_PATIENCE_S = 5.0
"""How long the first may take to connect, in seconds; until then the appliance does not listen."""

KEPT_S = 30.0
"""Most sound of one utterance that is kept for the second, in seconds; the oldest is forgotten first."""


def with_fallback(
    first: Stt, second: SegmentStt, *, language: str | None = None, on_trouble: OnTrouble | None = None
) -> Stt:
    """``first`` with ``second`` behind it, of the kind of ``first``; ``language`` as for ``FallbackStt``."""
    if isinstance(first, StreamingStt):
        return FallbackStt(first, second, language=language, on_trouble=on_trouble)
    return FallbackSegmentStt(first, second, on_trouble=on_trouble)


class FallbackSegmentStt(SegmentStt):
    """A segment recogniser that asks ``first``, and ``second`` where that fails or is slow.

    Args:
        first: preferred.
        second: takes over.
        patience_s: how long the first may take, in seconds.
        backoff: how long the first is left alone after each failure.
        on_trouble: told of trouble, at most once per half minute.
    """

    def __init__(
        self,
        first: SegmentStt,
        second: SegmentStt,
        *,
        patience_s: float = SEGMENT_PATIENCE_S,
        backoff: Backoff | None = None,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        self._first = first
        self._second = second
        self._patience_s = patience_s
        self._standby = Standby(type(first).__name__, backoff, on_trouble)
        self.cost_s = first.cost_s
        self.max_seconds = min(first.max_seconds, second.max_seconds)
        self.pad_s = min(first.pad_s, second.pad_s)

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """See ``SegmentStt``. For programs without a loop, which each call asks anew."""
        try:
            return self._first.transcribe(pcm, language)
        except Exception as fault:  # noqa: BLE001 - a recogniser may fail in any way
            log.warning("second recogniser takes over", error=repr(fault))
        return self._second.transcribe(pcm, language)

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``. Raises what the second raises."""
        if self._standby.may_try:
            try:
                async with asyncio.timeout(self._patience_s):
                    heard = await self._first.recognise(pcm, language, executor)
            except TimeoutError:
                self._standby.failed(_slow(self._patience_s))
            except Exception as fault:  # noqa: BLE001 - a recogniser may fail in any way
                self._standby.failed(as_stt_error(fault))
            else:
                self._standby.succeeded()
                return heard
        return await self._second.recognise(pcm, language, executor)

    def close(self) -> None:
        """Close both."""
        self._first.close()
        self._second.close()


@dataclass(eq=False)
class _Question:
    """An utterance for which a final was asked.

    ``whole``: the first has heard all of it. ``hurry``: it is settled, or the first will not answer it.
    """

    sound: Pcm
    whole: bool
    settled: bool = False
    hurry: asyncio.Event = field(default_factory=asyncio.Event)


class FallbackStt(StreamingStt):
    """A streaming recogniser that listens with ``first`` and lets ``second`` recognise what that did not answer.

    The sound of the utterance in progress is kept, bounded. When the first is away, fails or does not answer a flush in
    time, the second transcribes it; a final of the first that comes later is dropped. The first is connected again in
    the background, so ``SttClosed`` is never emitted.

    Args:
        first: preferred; owned from now on.
        second: takes over; shared, so it is not closed.
        language: BCP-47 tag handed to the second; None lets it find out.
        patience_s: how long the first may take for a final, in seconds.
        backoff: how long the first is left alone after each failure.
        on_trouble: told of trouble, at most once per half minute.
    """

    def __init__(
        self,
        first: StreamingStt,
        second: SegmentStt,
        *,
        language: str | None = None,
        patience_s: float = STREAM_PATIENCE_S,
        backoff: Backoff | None = None,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        super().__init__()
        self._first = first
        self._second = second
        self._language = language
        self._patience_s = patience_s
        self._standby = Standby(type(first).__name__, backoff, on_trouble)
        self._kept: deque[Pcm] = deque()
        self._kept_samples = 0
        self._whole = True
        self._scope: Scope | None = None
        self._first_open = self._first_good = False
        self._questions: deque[_Question] = deque()
        first.events.on(SttEvent, self._from_first)

    @property
    def is_connected(self) -> bool:
        """Whether the session is open: one of the two always hears."""
        return self._scope is not None

    @property
    def current_partial(self) -> str:
        """The last partial of the first."""
        return self._first.current_partial

    async def connect(self) -> None:
        """Open the session, with the first if it can be had; no effect while it is open."""
        if self._scope is not None:
            return
        scope = self._scope = Scope("recogniser with a fallback")
        try:
            opened = await self._connect_first(scope)
        except BaseException:
            if self._scope is scope:
                self._scope = None
            raise
        if not opened and self._scope is scope:
            scope.spawn(self._reconnect(scope), "reconnect")

    def send_audio(self, pcm: Pcm) -> None:
        """See ``StreamingStt``."""
        if self._scope is None or not pcm.size:
            return
        self._kept.append(pcm)
        self._kept_samples += pcm.size
        while self._kept_samples > KEPT_S * CAPTURE_RATE_HZ:
            self._kept_samples -= self._kept.popleft().size
        self._whole = self._whole and self._first_open
        self._first.send_audio(pcm)

    def flush_utterance(self) -> None:
        """See ``StreamingStt``."""
        if not self._kept or self._scope is None:
            self.events.emit(SttFinal(""))
            return
        whole = self._whole
        question = _Question(self._take(), whole)
        self._scope.spawn(self._answer(question), "final")
        hears = self._first_open and self._first.is_connected and self._first_good and self._standby.may_try
        if not (hears and whole):
            question.hurry.set()
        if self._first_open:
            self._questions.append(question)
            self._first.flush_utterance()

    async def disconnect(self) -> None:
        """See ``StreamingStt``."""
        scope, self._scope = self._scope, None
        self._take()
        self._questions.clear()
        self._first_open = False
        if scope is not None:
            await scope.close()
        await self._first.disconnect()

    def _take(self) -> Pcm:
        sound = np.concatenate(self._kept) if self._kept else silence(0)
        self._kept.clear()
        self._kept_samples = 0
        self._whole = True
        return sound

    async def _connect_first(self, scope: Scope) -> bool:
        """Whether the first is connected now, and still wanted."""
        fault: GloveVoiceError
        try:
            async with asyncio.timeout(CONNECT_PATIENCE_S):
                await self._first.connect()
        except TimeoutError:
            fault = _slow(CONNECT_PATIENCE_S)
        except Exception as failure:  # noqa: BLE001 - a recogniser may fail in any way
            fault = as_stt_error(failure)
        else:
            if self._scope is scope:
                self._first_open = self._first_good = True
            elif self._scope is None:
                await self._first.disconnect()
            return self._scope is scope
        if self._scope is scope:
            self._standby.failed(fault)
        return False

    async def _reconnect(self, scope: Scope) -> None:
        while True:
            await asyncio.sleep(self._standby.wait_s)
            if await self._connect_first(scope):
                return

    async def _answer(self, question: _Question) -> None:
        """Wait for the first, then ask the second."""
        try:
            async with asyncio.timeout(self._patience_s):
                await question.hurry.wait()
        except TimeoutError:
            self._standby.failed(_slow(self._patience_s))
        if question.settled:
            return
        question.settled = True
        sound, question.sound = question.sound, silence(0)  # the question may wait long for the first
        try:
            heard = await self._second.recognise(sound, self._language)
        except Exception as fault:  # noqa: BLE001 - a recogniser may fail in any way
            self.events.emit(SttFault(as_stt_error(fault)))
        else:
            self.events.emit(SttFinal(heard.text, heard.language))

    def _from_first(self, event: SttEvent) -> None:
        if self._scope is None:
            return
        match event:
            case SttPartial():
                self._first_good = True
                self.events.emit(event)
            case SttFinal():
                self._final(event)
            case SttFault():
                self._first_good = False
                self._standby.failed(as_stt_error(event.error))
                self._hurry()
                if self._first.is_connected and self._questions:
                    self._questions.popleft()  # in place of its final
            case SttClosed():
                self._first_open = False
                self._hurry()
                self._questions.clear()
                if self._standby.may_try:  # it gave up without a word, and would again at once
                    self._standby.failed(_gone())
                self._scope.spawn(self._reconnect(self._scope), "reconnect")
            case _:
                pass

    def _final(self, event: SttFinal) -> None:
        question = self._questions.popleft() if self._questions else None
        if not event.text and not self._first_good:  # it lost what was said
            if question is not None:
                question.hurry.set()
            return
        self._first_good = True
        self._standby.succeeded()
        if question is None:
            self._take()
            self.events.emit(event)
        elif question.whole and not question.settled:
            question.settled = True
            question.hurry.set()
            self.events.emit(event)

    def _hurry(self) -> None:
        for question in self._questions:
            question.hurry.set()


def as_stt_error(fault: Exception) -> GloveVoiceError:
    """``fault`` as an error with a code."""
    if isinstance(fault, GloveVoiceError):
        return fault
    return GloveVoiceError("ERR_STT_CONNECTION", f"The recogniser failed: {fault}", cause=fault)


def _gone() -> GloveVoiceError:
    return GloveVoiceError("ERR_STT_DISCONNECTED", "The recogniser closed the connection.", "It is opened again.")


def _slow(patience_s: float) -> GloveVoiceError:
    return GloveVoiceError(
        "ERR_STT_TIMEOUT", f"The recogniser took longer than {patience_s:g} s.", "Check the network."
    )
