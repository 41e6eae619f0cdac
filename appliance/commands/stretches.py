"""Cuts a recording into stretches of speech, in one pass and with memory bounded by the longest stretch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples, silence
from audio.vad.base import SpeechEnd, SpeechStart, VadAdapter, VadMisfire

LONGEST_S = 60
"""Speech without a pause is handed over in stretches of this length, in seconds; recognisers cut further."""


@dataclass(frozen=True)
class Stretch:
    """Speech. ``start``: sample index at 16 kHz of its first sample, counted from the recording's beginning."""

    start: int
    pcm: Pcm

    @property
    def start_s(self) -> float:
        """Seconds from the beginning of the recording."""
        return self.start / CAPTURE_RATE_HZ

    @property
    def end_s(self) -> float:
        """Seconds from the beginning of the recording to the end of the stretch."""
        return (self.start + self.pcm.size) / CAPTURE_RATE_HZ


def stretches(blocks: Iterable[Pcm], vad: VadAdapter, preroll_ms: int) -> Iterator[Stretch]:
    """The stretches of speech that ``vad`` finds, in order.

    Args:
        blocks: the recording as 16 kHz PCM in pieces of any length.
        vad: a fresh detector.
        preroll_ms: sound kept from before a detected start.
    """
    kept = _Kept(ms_to_samples(preroll_ms, CAPTURE_RATE_HZ))
    longest = LONGEST_S * CAPTURE_RATE_HZ
    for block in blocks:
        for at in range(0, block.size, CAPTURE_RATE_HZ):
            piece = block[at : at + CAPTURE_RATE_HZ]
            kept.push(piece)
            for event in vad.process(piece):
                if isinstance(event, SpeechStart):
                    kept.open(event.sample)
                elif isinstance(event, VadMisfire):
                    kept.drop()
                elif isinstance(event, SpeechEnd):
                    yield kept.cut(event.sample)
            if kept.opened and kept.length >= longest:
                yield kept.cut(kept.end, reopen=True)
    if kept.opened:
        yield kept.cut(kept.end)


class _Kept:
    """The recent sound: the pre-roll while nobody speaks, everything since the start while somebody does."""

    def __init__(self, preroll: int) -> None:
        self._preroll = preroll
        self._pieces: list[Pcm] = []
        self._first = 0
        self._start: int | None = None
        self._floor = 0
        self.end = 0

    @property
    def opened(self) -> bool:
        return self._start is not None

    @property
    def length(self) -> int:
        return self.end - (self.end if self._start is None else self._start)

    def push(self, pcm: Pcm) -> None:
        self._pieces.append(pcm)
        self.end += pcm.size
        if self._start is None:
            self._forget_before(self.end - self._preroll - CAPTURE_RATE_HZ)

    def open(self, sample: int) -> None:
        self._start = max(self._floor, self._first, sample - self._preroll)

    def drop(self) -> None:
        self._start = None

    def cut(self, end: int, *, reopen: bool = False) -> Stretch:
        start = self._first if self._start is None else self._start
        sound = np.concatenate(self._pieces) if self._pieces else silence(0)
        stretch = Stretch(start, sound[start - self._first : end - self._first].copy())
        self._floor = end
        self._forget_before(end)
        self._start = end if reopen else None
        return stretch

    def _forget_before(self, sample: int) -> None:
        while self._pieces and self._first + self._pieces[0].size <= sample:
            self._first += self._pieces.pop(0).size
