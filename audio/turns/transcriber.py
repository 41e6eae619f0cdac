"""The text of the utterance in progress, whatever kind of recogniser hears it.

The turn engine feeds audio and asks three questions: what does it seem to say (partials), what does it say up to here
(``speculate``, when a silence begins), and what did it say (``final``). Only the engine commits text that comes from
here.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import structlog

from agents.base import clock
from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.stt.base import SegmentStt, StreamingStt, Stt, Transcript
from audio.stt.pieces import join_texts, quietest

log = structlog.get_logger(__name__)

FIRST_S = 0.3
URGENT_FIRST_S = 0.15
URGENT_S = 0.2
"""Time from confirmed speech to the first partial, to the first one that is urgent, and from there to the next."""

GLANCES = 3
"""How often the recogniser of finals is asked for a partial of one utterance."""

OnPartial = Callable[[str, str], None]
"""Called with what the utterance seems to say, and its language (BCP-47 primary tag)."""


class Transcriber(ABC):
    """Holds the audio of one utterance and knows its text. One per session; ``clear`` between utterances.

    Attributes:
        on_partial: called with what the utterance seems to say and its language.
        on_unasked: called with text that arrives while no utterance is in progress.
        padded: samples of silence that were put behind utterances, in all.
        foretells: whether ``final`` may be asked in a pause, at no loss if the user speaks on.
        urgent: asked whether something waits for the words of the utterance: a reply that stands still.
    """

    on_unasked: Callable[[str], None] | None = None
    padded: int = 0
    foretells: bool = False
    on_partial: OnPartial | None = None
    urgent: Callable[[], bool] = bool

    async def open(self) -> None:
        """Connect. Raises ``GloveVoiceError``."""

    @abstractmethod
    def append(self, pcm: Pcm) -> None:
        """More audio of the utterance, 16 kHz."""

    def hear(self, pcm: Pcm) -> None:
        """Sound of the room, 16 kHz, part of an utterance or not. For recognisers that hear everything."""

    @abstractmethod
    def voiced(self) -> None:
        """The audio just appended holds speech: an earlier speculation no longer covers the utterance."""

    @abstractmethod
    def speculate(self) -> None:
        """A silence has begun: start recognising what there is, so that ``final`` can answer at once."""

    @abstractmethod
    async def final(self) -> Transcript:
        """The text of everything appended. Raises ``GloveVoiceError`` when the recogniser fails or is too slow."""

    def take(self, text: str) -> None:
        """What was understood, or ``text`` out of it, is committed as a turn; ``clear`` follows."""

    @abstractmethod
    def clear(self) -> None:
        """The utterance is over (committed or discarded)."""

    @property
    @abstractmethod
    def seconds(self) -> float:
        """Length of the utterance's audio."""

    async def close(self) -> None:
        """Stop; idempotent."""


class SegmentTranscriber(Transcriber):
    """Asks segment recognisers: the final one speculatively, a lighter one for partials.

    Audio longer than ``piece_s`` is cut at its quietest place; the head is recognised and kept as text, so memory and
    the cost of a final stay bounded however long somebody speaks.

    Args:
        stt: recogniser of finals.
        partials: recogniser of partials, or None.
        language: BCP-47 primary tag, or None to let the recogniser find it out.
        interval_s: time between partials; less while they are urgent, and then the recogniser of finals gives a few if
            there is no other.
        timeout_s: longest time a final may take.
        piece_s: longest stretch handed to the recogniser.
        pad_s: silence behind each stretch that is handed to the recogniser, its own (``SegmentStt.pad_s``) included.
    """

    foretells = True

    def __init__(
        self,
        stt: SegmentStt,
        partials: SegmentStt | None = None,
        *,
        language: str | None = None,
        interval_s: float = 0.5,
        timeout_s: float = 10.0,
        piece_s: float = 24.0,
        pad_s: float = 0.0,
    ) -> None:
        self._stt = stt
        self._partials = partials
        self._language = language
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._piece_samples = int(min(piece_s, stt.max_seconds - 2) * CAPTURE_RATE_HZ)
        self._padding = silence(round(max(0.0, pad_s - stt.pad_s) * CAPTURE_RATE_HZ))
        self._chunks: list[Pcm] = []
        self._samples = 0
        self._total = 0
        self._heads: list[asyncio.Task[Transcript]] = []
        self._version = 0
        self._speculation: tuple[int, asyncio.Task[Transcript]] | None = None
        self._awaited: list[asyncio.Task[Transcript]] = []
        self._partial_task: asyncio.Task[None] | None = None
        self._glances = 0
        self._utterance = 0
        self._scope = Scope("transcriber")
        self._final_worker = ThreadPoolExecutor(1, thread_name_prefix="stt-final")
        self._partial_worker = ThreadPoolExecutor(1, thread_name_prefix="stt-partial")

    @property
    def seconds(self) -> float:
        """See ``Transcriber``."""
        return self._total / CAPTURE_RATE_HZ

    def append(self, pcm: Pcm) -> None:
        """See ``Transcriber``."""
        self._chunks.append(pcm)
        self._samples += pcm.size
        self._total += pcm.size
        if self._samples > self._piece_samples:
            self._cut_head()

    def voiced(self) -> None:
        """See ``Transcriber``."""
        self._version += 1
        if self._partial_task is not None or self.on_partial is None:
            return
        if self._partials is not None:
            work = self._partial_loop(self._partials, self._utterance)
        elif self.urgent() and self._glances < GLANCES:
            work = self._glance_loop(self._utterance)
        else:
            return
        self._partial_task = self._scope.spawn(work, "partials")

    def speculate(self) -> None:
        """See ``Transcriber``."""
        if self._speculation is None or self._speculation[0] != self._version:
            self._drop_speculation()
            self._speculation = (self._version, self._scope.spawn(self._recognise(self._audio()), "final"))

    async def final(self) -> Transcript:
        """See ``Transcriber``."""
        try:
            async with asyncio.timeout(self._timeout_s):
                done = await self._parts()
        except TimeoutError as fault:
            raise GloveVoiceError(
                "ERR_STT_TIMEOUT", f"Speech was not recognised within {self._timeout_s:g} s.", cause=fault
            ) from fault
        last = next((part for part in reversed(done) if part.text), done[-1])
        text = join_texts([part.text for part in done], last.language)
        return Transcript(text, last.language, last.score, last.no_speech)

    def clear(self) -> None:
        """See ``Transcriber``."""
        self._utterance += 1
        self._version += 1
        self._chunks, self._samples, self._total = [], 0, 0
        for head in self._heads:
            head.cancel()
        self._heads = []
        for awaited in self._awaited:
            awaited.cancel()
        self._drop_speculation()
        self._glances = 0
        if self._partial_task is not None:
            self._partial_task.cancel()
            self._partial_task = None

    async def close(self) -> None:
        """See ``Transcriber``."""
        self.clear()
        await self._scope.close()
        self._final_worker.shutdown(wait=False, cancel_futures=True)
        self._partial_worker.shutdown(wait=False, cancel_futures=True)

    async def _parts(self) -> list[Transcript]:
        """The text of everything appended so far, in pieces."""
        utterance = self._utterance
        self.speculate()
        assert self._speculation is not None
        last = self._speculation[1]
        parts = [*self._heads, last]
        self._awaited.append(last)
        try:
            await asyncio.wait(parts)
        finally:
            self._awaited.remove(last)
        if utterance != self._utterance:
            raise asyncio.CancelledError  # nobody needs it: the utterance is over
        if any(part.cancelled() for part in parts):
            raise GloveVoiceError("ERR_STT_CONNECTION", "The speech recogniser broke off.")
        return [part.result() for part in parts]

    def _drop_speculation(self) -> None:
        """Newer sound has come: what has not begun yet must not keep the recogniser from what counts.

        What somebody waits for goes on: it was asked what had been said until then.
        """
        if self._speculation is not None and self._speculation[1] not in self._awaited:
            self._speculation[1].cancel()
        self._speculation = None

    def _audio(self) -> Pcm:
        if len(self._chunks) > 1:
            self._chunks = [np.concatenate(self._chunks)]
        return self._chunks[0] if self._chunks else silence(0)

    def _cut_head(self) -> None:
        audio = self._audio()
        cut = quietest(audio, audio.size * 3 // 5, audio.size - CAPTURE_RATE_HZ // 2)
        self._heads.append(self._scope.spawn(self._recognise(audio[:cut]), "head"))
        self._chunks, self._samples = [audio[cut:]], audio.size - cut
        self._speculation = None  # not cancelled: a decision may be waiting for it

    async def _recognise(self, audio: Pcm) -> Transcript:
        if audio.size == 0:
            return Transcript("")
        try:
            if self._padding.size:
                self.padded += self._padding.size
                audio = np.concatenate((audio, self._padding))
            return await self._stt.recognise(audio, self._language, self._final_worker)
        except GloveVoiceError:
            raise
        except Exception as fault:
            raise GloveVoiceError(
                "ERR_STT_CONNECTION", f"The speech recogniser failed: {fault}", cause=fault
            ) from fault

    async def _partial_loop(self, stt: SegmentStt, utterance: int) -> None:
        """Recognise what there is every ``interval_s`` while the voice goes on; slow machines get longer intervals."""
        seen = -1
        pause = min(URGENT_FIRST_S if self.urgent() else FIRST_S, self._interval_s)
        while True:
            await asyncio.sleep(pause)
            if utterance != self._utterance or self._version == seen:
                self._partial_task = None if utterance == self._utterance else self._partial_task
                return
            seen = self._version
            started = clock.now()
            await self._understand(stt, utterance, self._partial_worker)
            interval = min(URGENT_S, self._interval_s) if self.urgent() else self._interval_s
            pause = max(interval, 2 * (clock.now() - started))

    async def _glance_loop(self, utterance: int) -> None:
        """Ask the recogniser of finals, which costs more, a few times and only while something waits for words."""
        pause = URGENT_FIRST_S
        while True:
            await asyncio.sleep(pause)
            if utterance != self._utterance:
                return
            silent = self._speculation is not None and self._speculation[0] == self._version
            if silent or not self.urgent() or self._glances >= GLANCES:
                self._partial_task = None  # what was said is being recognised, or it is decided
                return
            self._glances += 1
            started = clock.now()
            await self._understand(self._stt, utterance, self._final_worker)
            pause = max(URGENT_S, clock.now() - started)

    async def _understand(self, stt: SegmentStt, utterance: int, worker: ThreadPoolExecutor) -> None:
        try:
            part = await stt.recognise(self._audio(), self._language, worker)
        except Exception as fault:  # noqa: BLE001 - any recogniser may fail; a partial is only display
            log.warning("partial failed", error=repr(fault))
            return
        if utterance == self._utterance and part.text and self.on_partial is not None:
            heads = [head.result().text for head in self._heads if _has_result(head)]
            self.on_partial(join_texts([*heads, part.text], part.language), part.language)


def _has_result(task: asyncio.Task[Transcript]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def make_transcriber(
    stt: Stt, partials: SegmentStt | None, *, language: str | None = None, pad_s: float = 0.0, hears_all: bool = False
) -> Transcriber:
    """The transcriber that suits the kind of ``stt``.

    ``hears_all`` is for streaming recognisers, the other arguments are for segment recognisers.
    """
    from audio.turns.streaming import StreamingTranscriber

    if isinstance(stt, StreamingStt):
        return StreamingTranscriber(stt, hears_all=hears_all)
    return SegmentTranscriber(stt, partials, language=language, pad_s=pad_s)
