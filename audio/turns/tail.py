"""The last seconds of what was heard, bounded."""

from __future__ import annotations

from collections import deque

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence


class Tail:
    """Keeps the end of a 16 kHz stream, in whole chunks.

    Args:
        seconds: what is kept at least, once so much was heard; at most one chunk more.
    """

    def __init__(self, seconds: float) -> None:
        self._most = round(seconds * CAPTURE_RATE_HZ)
        self._chunks: deque[Pcm] = deque()
        self._samples = 0

    def append(self, chunk: Pcm) -> None:
        """More sound; it is kept, not copied."""
        self._chunks.append(chunk)
        self._samples += chunk.size
        while self._samples - self._chunks[0].size >= self._most:
            self._samples -= self._chunks.popleft().size

    def until(self, samples_before_end: int) -> Pcm:
        """A copy of what is kept, without its last ``samples_before_end`` samples."""
        whole = np.concatenate(self._chunks) if self._chunks else silence(0)
        return whole[: max(0, whole.size - samples_before_end)]

    def clear(self) -> None:
        """Forget everything."""
        self._chunks.clear()
        self._samples = 0
