"""The player: what is to be played, and the count of what has been played.

Everything that depends on what a person has heard (history after an interruption, when speaking began and ended, every
latency) is derived from ``played`` here and from nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from audio.pcm import Pcm, round_to_pcm, silence
from audio.resample import StreamResampler


class Player:
    """A queue of PCM at the sink's rate, drained by ``pull`` in the sink's own rhythm.

    ``enqueue`` and the controls are called from the loop, ``pull`` from the sink (a pump task or an audio thread); a
    lock that is held for microseconds lies between. Sound of an older generation than the current one is dropped.

    Of every sample that ``enqueue`` and ``finish`` report as added, exactly one of these is true: it is counted in
    ``played_total``, in ``cut``, or it is still queued.

    Args:
        rate_hz: the sink's rate.
        max_queued_s: seconds of sound after which the player is ``full``; it never drops sound of the current
            generation, so producers wait while it is.

    Attributes:
        on_started: called from ``pull`` when sound begins: for the first sample of a generation, and again after
            ``on_drained``.
        on_drained: called from ``pull`` when the sink asked for more than there was, once per ``on_started`` and never
            for sound that was cut.
        on_queued: called from ``enqueue`` when sound comes after there was none.
        tap: called from ``pull`` with every block that goes to the sink, sound and silence alike; it must be quick.
        gain: how loud everything is played, 0…1; changes fade within one block. Written by one thread at a time.
        dropped: samples of stale generations that were refused, at the sink's rate.
        cut: queued samples that ``next_generation`` threw away.
    """

    def __init__(self, rate_hz: int = 24_000, max_queued_s: float = 120.0) -> None:
        self.rate_hz = rate_hz
        self.max_queued_s = max_queued_s
        self._lock = threading.Lock()
        self._queue: deque[Pcm] = deque()
        self._queued = 0
        self._paused = False
        self._generation = 0
        self._played = 0
        self._played_before = 0
        self._resampler: StreamResampler | None = None
        self.gain = 1.0
        self._faded_to = 1.0
        self.dropped = 0
        self.cut = 0
        self.on_started: Callable[[], None] | None = None
        self.on_drained: Callable[[], None] | None = None
        self.on_queued: Callable[[], None] | None = None
        self.tap: Callable[[Pcm], None] | None = None
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
    def played_total(self) -> int:
        """Samples of all generations that have been handed to the sink."""
        return self._played_before + self._played

    @property
    def queued_s(self) -> float:
        """Seconds of sound still waiting."""
        return self._queued / self.rate_hz

    @property
    def full(self) -> bool:
        """Whether producers should wait before they enqueue more."""
        return self.queued_s >= self.max_queued_s

    @property
    def paused(self) -> bool:
        """Whether playback stands still."""
        return self._paused

    @property
    def sounding(self) -> bool:
        """Whether sound has begun and neither run out nor been cut; also while it is paused."""
        return self._sounding

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be played."""
        return self._queued == 0

    def next_generation(self) -> int:
        """Drop everything, lift a pause, zero ``played`` and return the number of the new generation."""
        with self._lock:
            self._generation += 1
            self.cut += self._queued
            self._queue.clear()
            self._queued = 0
            self._played_before += self._played
            self._played = 0
            self._paused = False
            self._sounding = False
            self._resampler = None
            return self._generation

    def enqueue(self, pcm: Pcm, rate_hz: int, generation: int) -> int:
        """Append sound of ``generation``; an older one is dropped and counted.

        The array is not kept. A change of ``rate_hz`` begins a new stream; the end of the old one is not lost.

        Returns the number of samples added at the sink's rate (the resampler may hold some back until ``finish``).
        """
        added, first = self._add(pcm, rate_hz, generation)
        if first and self.on_queued is not None:
            self.on_queued()
        return added

    def _add(self, pcm: Pcm, rate_hz: int, generation: int) -> tuple[int, bool]:
        """The samples added, and whether they are the first after there were none."""
        with self._lock:
            if generation != self._generation:
                self.dropped += round(pcm.size * self.rate_hz / rate_hz)
                return 0, False
            first = self._queued == 0
            added = 0
            if self._resampler is not None and self._resampler.in_rate_hz != rate_hz:
                added = self._release_held()
            if rate_hz == self.rate_hz:
                return added + self._append(pcm.copy()), first
            if self._resampler is None:
                self._resampler = StreamResampler(rate_hz, self.rate_hz)
            return added + self._append(self._resampler.push(pcm)), first

    def finish(self, generation: int) -> int:
        """No more sound follows in this stream: release what the resampler holds back. Returns the samples added."""
        with self._lock:
            return self._release_held() if generation == self._generation else 0

    def _release_held(self) -> int:
        if self._resampler is None:
            return 0
        tail, self._resampler = self._resampler.flush(), None
        return self._append(tail)

    def _append(self, pcm: Pcm) -> int:
        if pcm.size:
            self._queue.append(pcm)
            self._queued += pcm.size
        return pcm.size

    def pause(self, generation: int | None = None) -> bool:
        """Stand still at the current sample, unless ``generation`` is given and is no longer the current one.

        Returns whether this call is what stopped the sound.
        """
        with self._lock:
            if generation is not None and generation != self._generation:
                return False
            stopped = not self._paused
            self._paused = True
            return stopped

    def resume(self) -> None:
        """Go on at the same sample."""
        with self._lock:
            self._paused = False

    def pull(self, samples: int) -> Pcm:
        """The next ``samples`` samples for the sink: sound, then silence. Calls ``on_started`` and ``on_drained``."""
        out = silence(samples)
        with self._lock:
            filled = 0 if self._paused else self._take(out)
            started = filled > 0 and not self._sounding
            self._sounding = self._sounding or started
            drained = self._sounding and filled < samples and self._queued == 0 and not self._paused
            if drained:
                self._sounding = False
        out = self._faded(out)
        if self.tap is not None:
            self.tap(out)
        if started and self.on_started is not None:
            self.on_started()
        if drained and self.on_drained is not None:
            self.on_drained()
        return out

    def _faded(self, out: Pcm) -> Pcm:
        before, self._faded_to = self._faded_to, self.gain
        if before == self._faded_to == 1.0:
            return out
        return round_to_pcm(out * np.linspace(before, self._faded_to, out.size))

    def _take(self, out: Pcm) -> int:
        """Move queued samples into ``out``; returns how many."""
        filled = 0
        while filled < out.size and self._queue:
            chunk = self._queue.popleft()
            take = min(out.size - filled, chunk.size)
            out[filled : filled + take] = chunk[:take]
            filled += take
            if take < chunk.size:
                self._queue.appendleft(chunk[take:])
        self._queued -= filled
        self._played += filled
        return filled
