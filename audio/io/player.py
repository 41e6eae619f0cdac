"""The player: what is to be played, and the count of what has been played.

Everything that depends on what a person has heard (history after an interruption, when speaking began and ended, every
latency) is derived from ``played`` here and from nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from audio.pcm import Pcm, silence
from audio.resample import StreamResampler


@dataclass(frozen=True)
class _Chunk:
    pcm: Pcm
    generation: int


class Player:
    """A bounded queue of PCM at the sink's rate, drained by ``pull`` in the sink's own rhythm.

    ``enqueue`` and the controls are called from the loop, ``pull`` from the sink (a pump task or an audio thread); a
    lock that is held for microseconds lies between. Sound of an older generation than the current one is dropped.

    Args:
        rate_hz: the sink's rate.
        max_queued_s: longest queue; ``queued_s`` tells producers when to wait.
    """

    def __init__(self, rate_hz: int = 24_000, max_queued_s: float = 120.0) -> None:
        self.rate_hz = rate_hz
        self.max_queued_s = max_queued_s
        self._lock = threading.Lock()
        self._queue: deque[_Chunk] = deque()
        self._queued = 0
        self._paused = False
        self._generation = 0
        self._played = 0
        self._resampler: StreamResampler | None = None
        self.dropped = 0
        self.on_started: Callable[[], None] | None = None
        self.on_drained: Callable[[], None] | None = None
        self._sounding = False

    @property
    def generation(self) -> int:
        """The number of the reply that may be heard."""
        return self._generation

    @property
    def played(self) -> int:
        """Samples of the current generation that have been handed to the sink."""
        return self._played

    @property
    def queued_s(self) -> float:
        """Seconds of sound still waiting."""
        return self._queued / self.rate_hz

    @property
    def paused(self) -> bool:
        """Whether playback stands still."""
        return self._paused

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be played."""
        return self._queued == 0

    def next_generation(self) -> int:
        """Drop everything, lift a pause, zero ``played`` and return the number of the new generation."""
        with self._lock:
            self._generation += 1
            self._queue.clear()
            self._queued = 0
            self._played = 0
            self._paused = False
            self._sounding = False
            self._resampler = None
            return self._generation

    def enqueue(self, pcm: Pcm, rate_hz: int, generation: int) -> int:
        """Append sound of ``generation``; an older one is dropped and counted.

        Returns the number of samples added at the sink's rate (the resampler may hold some back until ``finish``).
        """
        with self._lock:
            if generation != self._generation:
                self.dropped += pcm.size
                return 0
            if rate_hz != self.rate_hz:
                if self._resampler is None or self._resampler.in_rate_hz != rate_hz:
                    self._resampler = StreamResampler(rate_hz, self.rate_hz)
                pcm = self._resampler.push(pcm)
            return self._append(pcm)

    def finish(self, generation: int) -> int:
        """No more sound follows in this stream: release what the resampler holds back. Returns the samples added."""
        with self._lock:
            if generation != self._generation or self._resampler is None:
                return 0
            tail, self._resampler = self._resampler.flush(), None
            return self._append(tail)

    def _append(self, pcm: Pcm) -> int:
        if pcm.size:
            self._queue.append(_Chunk(pcm, self._generation))
            self._queued += pcm.size
        return pcm.size

    def pause(self) -> None:
        """Stand still at the current sample."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Go on at the same sample."""
        with self._lock:
            self._paused = False

    def pull(self, samples: int) -> Pcm:
        """The next ``samples`` samples for the sink: sound, then silence. Calls ``on_started`` and ``on_drained``."""
        with self._lock:
            out = silence(samples)
            filled = 0
            while filled < samples and self._queue and not self._paused:
                chunk = self._queue[0]
                take = min(samples - filled, chunk.pcm.size)
                out[filled : filled + take] = chunk.pcm[:take]
                filled += take
                if take == chunk.pcm.size:
                    self._queue.popleft()
                else:
                    self._queue[0] = _Chunk(chunk.pcm[take:], chunk.generation)
            self._queued -= filled
            self._played += filled
            started = filled > 0 and not self._sounding
            drained = self._sounding and self._queued == 0 and filled < samples and not self._paused
            if started:
                self._sounding = True
            if drained:
                self._sounding = False
        if started and self.on_started is not None:
            self.on_started()
        if drained and self.on_drained is not None:
            self.on_drained()
        return out
