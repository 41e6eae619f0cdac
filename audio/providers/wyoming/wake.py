"""The wake word, heard by a Wyoming service; by this machine while the service is away.

A detector is fed synchronously and for ever. What it is fed goes into a short queue, from which a task sends it; hits
come back some tens of milliseconds later and are told with the next frames. Nothing is owed for silence, so a service
that is gone without a word is found out by asking it now and then what it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import NoReturn

import structlog
from wyoming.audio import AudioStart
from wyoming.error import Error
from wyoming.info import Describe
from wyoming.wake import Detect, Detection

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.providers.socket import ConnectionEnded, ConnectionRefused
from audio.providers.standby import OnTrouble
from audio.providers.wyoming.link import Address, DialWyoming, Link, dial_wyoming
from audio.providers.wyoming.offer import described
from audio.providers.wyoming.sound import chunk_of
from audio.providers.wyoming.wire import WireFault, parsed
from audio.wake.base import WakeDetector, WakeHeard

log = structlog.get_logger(__name__)

HELD_S = 2.0
"""Most sound that waits to be sent, in seconds; the oldest is dropped first."""

ASK_EVERY_S = 15.0
"""How often a service that has nothing to say is asked whether it still listens, in seconds."""

PATIENCE_S = 5.0
"""How long it may take to answer that, in seconds."""

REFRACTORY_S = 2.0
"""Time after a hit in which the phrase does not count again: a stream that begins anew may find its end once more."""

_PLAUSIBLE_S = 5.0


class WyomingWakeDetector(WakeDetector):
    """Listens through the service at ``address``. The connection is opened with the first sound and again after faults.

    Args:
        address: where the service listens.
        word: name of the wake word there, with or without its version.
        local: hears while the service is away; owned from now on. Nobody does when None.
        backoff: delays between attempts to connect; without end.
        on_trouble: told once per time of trouble.
        dial: opens connections.

    Attributes:
        dropped: samples that were too old to be sent.
    """

    def __init__(
        self,
        address: Address,
        word: str,
        *,
        local: WakeDetector | None = None,
        backoff: Backoff | None = None,
        on_trouble: OnTrouble | None = None,
        dial: DialWyoming = dial_wyoming,
    ) -> None:
        self.phrases = (word.replace("_", " ").title(),)
        self.dropped = 0
        self._address = address
        self._word = word
        self._local = None if local is None else _OnThisMachine(local)
        self._backoff = backoff or Backoff(first_s=0.5, cap_s=15.0, jitter=0.2)
        self._on_trouble = on_trouble
        self._dial = dial
        self._scope: Scope | None = None
        self._closing: asyncio.Task[list[str]] | None = None
        self._closed = self._listens = self._troubled = False
        self._fed = 0
        self._waiting: deque[tuple[Pcm, int]] = deque()
        self._waiting_samples = 0
        self._filled = asyncio.Event()
        self._hits: list[WakeHeard] = []
        self._heard_at: int | None = None
        self._told_at = 0.0

    @property
    def listens(self) -> bool:
        """Whether the service hears what is fed now."""
        return self._listens

    def process(self, pcm: Pcm) -> list[WakeHeard]:
        """See ``WakeDetector``. On a running loop; nothing after ``close``."""
        if self._closed:
            return []
        if self._scope is None:
            self._scope = Scope("wake word service")
            self._scope.spawn(self._run(), "session")
        before, self._fed = self._fed, self._fed + pcm.size
        hits, self._hits = self._hits, []
        if self._listens:
            self._queue(pcm, before)
        elif self._local is not None:
            hits += self._local.process(pcm, before)
        return hits

    def reset(self) -> None:
        """See ``WakeDetector``."""
        self._clear()
        self._hits.clear()
        if self._local is not None:
            self._local.detector.reset()

    def close(self) -> None:
        """Hang up, on the loop that runs; idempotent."""
        self._closed = True
        self._clear()
        if self._local is not None:
            self._local.detector.close()
        scope, self._scope = self._scope, None
        if scope is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop that had the connection has ended, and the connection too
            self._closing = asyncio.get_running_loop().create_task(scope.close())

    def _queue(self, pcm: Pcm, at: int) -> None:
        self._waiting.append((pcm, at))
        self._waiting_samples += pcm.size
        while self._waiting_samples > HELD_S * CAPTURE_RATE_HZ:
            oldest, _ = self._waiting.popleft()
            self._waiting_samples -= oldest.size
            self.dropped += oldest.size
        self._filled.set()

    def _clear(self) -> None:
        self._waiting.clear()
        self._waiting_samples = 0

    async def _run(self) -> NoReturn:
        """Use one connection after the other."""
        while True:
            began = clock.now()
            try:
                await self._once()
            except ConnectionRefused as fault:
                self._tell(fault.words)
            except (ConnectionEnded, WireFault) as fault:
                words = getattr(fault, "reason", "") or str(fault)
                if self._listens:  # that a service hangs up now and then is not worth a word
                    log.info("connection to a wake word service ended", reason=words)
                else:
                    self._tell(words)
            self._listens = False
            self._clear()
            self._backoff.healthy(clock.now() - began)
            await asyncio.sleep(self._backoff.next_delay())

    async def _once(self) -> NoReturn:
        """Use one connection until it ends. Raises what ended it; ``listens`` still says whether it was of use."""
        link = await self._dial(self._address)
        try:
            word = (await described(link)).wake_word(self._word)
            if word is None:
                raise ConnectionRefused(None, f"it does not know the wake word {self._word!r}")
            await self._begin(link, word.name)
            self._listens, self._troubled, self._told_at = True, False, clock.now()
            raise await self._serve(link, word.name)
        finally:
            await link.close()

    async def _serve(self, link: Link, name: str) -> ConnectionEnded:
        """Let the service hear until that ends; returns why."""
        end = ConnectionEnded()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(link, name))
                group.create_task(self._write(link))
                group.create_task(self._ask(link))
        except* ConnectionEnded as ended:
            end = next(fault for fault in ended.exceptions if isinstance(fault, ConnectionEnded))
        except* WireFault as faults:
            end = ConnectionEnded(reason=str(faults.exceptions[0]))
        return end

    async def _begin(self, link: Link, name: str) -> None:
        start = AudioStart(CAPTURE_RATE_HZ, 2, 1, timestamp=self._fed * 1000 // CAPTURE_RATE_HZ)
        await link.send(Detect(names=[name]).event(), start.event())

    async def _read(self, link: Link, name: str) -> NoReturn:
        while True:
            event = await link.receive()
            self._told_at = clock.now()
            if Error.is_type(event.type):
                raise ConnectionEnded(reason=str(event.data.get("text") or "an error")[:300])
            if Detection.is_type(event.type):
                told = parsed(Detection, event)
                if told.name in (None, name):
                    self._heard(self._sample_of(told.timestamp))
                # Some services tell a phrase once per stream: it begins anew.
                await self._begin(link, name)

    def _heard(self, sample: int) -> None:
        if self._heard_at is None or not 0 <= sample - self._heard_at < REFRACTORY_S * CAPTURE_RATE_HZ:
            self._heard_at = sample
            self._hits.append(WakeHeard(self.phrases[0], sample))

    def _sample_of(self, timestamp_ms: int | None) -> int:
        """Where a phrase was recognised: as the service says, if it keeps our times, else now."""
        sample = -1 if timestamp_ms is None else timestamp_ms * CAPTURE_RATE_HZ // 1000
        return sample if 0 <= self._fed - sample <= _PLAUSIBLE_S * CAPTURE_RATE_HZ else self._fed

    async def _write(self, link: Link) -> NoReturn:
        while True:
            while not self._waiting:
                self._filled.clear()
                await self._filled.wait()
            pcm, at = self._waiting.popleft()
            self._waiting_samples -= pcm.size
            await link.send(chunk_of(pcm, CAPTURE_RATE_HZ, at).event())

    async def _ask(self, link: Link) -> NoReturn:
        """Find out whether a service that says nothing still listens."""
        while True:
            told_at = self._told_at
            await clock.sleep_until(told_at + ASK_EVERY_S)
            if self._told_at != told_at:
                continue
            await link.send(Describe().event())
            await asyncio.sleep(PATIENCE_S)
            if self._told_at == told_at:
                raise ConnectionEnded(reason="it stopped answering")

    def _tell(self, words: str) -> None:
        if self._troubled:
            return
        self._troubled = True
        error = GloveVoiceError(
            "ERR_WAKE_CONNECTION",
            f"The wake word service at {self._address} cannot be used ({words}).",
            "Check wake.url and the service." + ("" if self._local is None else " Until then this machine listens."),
        )
        log.warning("wake word service in trouble", code=error.code, error=error.message)
        if self._on_trouble is not None:
            self._on_trouble(error)


class _OnThisMachine:
    """A detector that hears only parts of the stream, and tells places in the whole of it."""

    def __init__(self, detector: WakeDetector) -> None:
        self.detector = detector
        self._fed = 0
        self._end = 0

    def process(self, pcm: Pcm, at: int) -> list[WakeHeard]:
        """Feed what begins at sample ``at`` of the whole stream."""
        if at != self._end:
            self.detector.reset()
        offset = at - self._fed
        self._fed += pcm.size
        self._end = at + pcm.size
        return [WakeHeard(hit.phrase, hit.sample + offset) for hit in self.detector.process(pcm)]
