"""Recognisers with a script: test doubles, and simulated providers with fixed latencies for benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm
from audio.stt.base import SegmentStt, StreamingStt, SttClosed, SttFault, SttFinal, SttPartial, Transcript


class ScriptedSegmentStt(SegmentStt):
    """Answers with scripted texts after a fixed latency.

    Args:
        script: the texts of the utterances in order (the last one repeats when ``repeat_last``), or a function of the
            audio.
        latency_s: time of one call.
        language: reported with each text.
        repeat_last: whether the last text answers all further utterances.

    A call whose audio is that of the call before, and more, hears the same utterance again and gets the same text. One
    utterance more than the script holds is an ``AssertionError``. ``calls`` records the number of samples of each call.
    """

    def __init__(
        self,
        script: Sequence[str | GloveVoiceError] | Callable[[Pcm], str],
        *,
        latency_s: float = 0.1,
        language: str = "en",
        repeat_last: bool = False,
    ) -> None:
        self._script = script
        self._latency_s = latency_s
        self._language = language
        self._repeat_last = repeat_last
        self._begun = 0
        self._heard: Pcm | None = None
        self.cost_s = latency_s
        self.calls: list[int] = []

    @property
    def unused(self) -> int:
        """How many scripted texts were never asked for."""
        return 0 if callable(self._script) else max(0, len(self._script) - self._begun)

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """See ``SegmentStt``; without the latency."""
        self.calls.append(int(pcm.size))
        if callable(self._script):
            return Transcript(self._script(pcm), language or self._language)
        if self._heard is None or not _continues(pcm, self._heard):
            self._begun += 1
        self._heard = pcm
        index = self._begun - 1
        if index >= len(self._script) and not (self._repeat_last and self._script):
            raise AssertionError("the recogniser was asked for more utterances than its script holds")
        step = self._script[min(index, len(self._script) - 1)]
        if isinstance(step, GloveVoiceError):
            raise step
        return Transcript(step, language or self._language)

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``: waits the latency on the loop's clock."""
        try:
            return self.transcribe(pcm, language)
        finally:
            await asyncio.sleep(self._latency_s)


def _continues(pcm: Pcm, before: Pcm) -> bool:
    """Whether ``pcm`` is ``before``, without the silence that was put behind that, and more."""
    sounding = np.flatnonzero(before)
    size = int(sounding[-1]) + 1 if sounding.size else 0
    return pcm.size > before.size and np.array_equal(pcm[:size], before[:size])


class ScriptedStreamingStt(StreamingStt):
    """A streaming recogniser that is told what to emit.

    ``sent`` counts samples, ``flushes`` flushes; ``partial``, ``final``, ``fail`` and ``drop`` emit at once. With
    ``finals`` given, each flush is answered by the next of them after ``latency_s``, or at once by an empty one where
    nothing was fed since the last.
    """

    def __init__(self, finals: Sequence[str] = (), *, latency_s: float = 0.15, keeps_partial: bool = False) -> None:
        super().__init__()
        self._finals = list(finals)
        self._latency_s = latency_s
        self._keeps_partial = keeps_partial
        self._connected = False
        self._partial = ""
        self._flushed = 0
        self._due: list[asyncio.TimerHandle] = []
        self.sent = 0
        self.flushes = 0
        self.refuse: GloveVoiceError | None = None

    @property
    def is_connected(self) -> bool:
        """See ``StreamingStt``."""
        return self._connected

    @property
    def current_partial(self) -> str:
        """See ``StreamingStt``."""
        return self._partial

    async def connect(self) -> None:
        """See ``StreamingStt``; raises ``refuse`` if it is set."""
        if self.refuse is not None:
            raise self.refuse
        self._connected = True

    def send_audio(self, pcm: Pcm) -> None:
        """See ``StreamingStt``."""
        if self._connected:
            self.sent += int(pcm.size)

    def flush_utterance(self) -> None:
        """See ``StreamingStt``."""
        self.flushes += 1
        if not self._finals:
            return
        if self.sent == self._flushed:
            self.final("")
            return
        self._flushed = self.sent
        self._due.append(asyncio.get_running_loop().call_later(self._latency_s, self.final, self._finals.pop(0)))

    async def disconnect(self) -> None:
        """See ``StreamingStt``."""
        self._connected = False
        for final in self._due:
            final.cancel()
        self._due.clear()

    def partial(self, text: str) -> None:
        """Emit a partial."""
        self._partial = text
        self.events.emit(SttPartial(text))

    def final(self, text: str) -> None:
        """Emit a final."""
        if not self._keeps_partial:
            self._partial = ""
        self.events.emit(SttFinal(text))

    def fail(self, error: Exception) -> None:
        """Emit a fault."""
        self.events.emit(SttFault(error))

    def drop(self) -> None:
        """End the stream for good."""
        self._connected = False
        self.events.emit(SttClosed())
