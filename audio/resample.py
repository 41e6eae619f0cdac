"""Band-limited resampling of PCM streams (soxr)."""

from __future__ import annotations

import numpy as np
import soxr

from audio.pcm import Pcm, silence


class StreamResampler:
    """Resamples a stream chunk by chunk without seams.

    Args:
        in_rate_hz: rate of what is pushed.
        out_rate_hz: rate of what comes out; equal rates pass through.
        quality: soxr quality; ``HQ`` for sound that people or recognisers hear.
    """

    def __init__(self, in_rate_hz: int, out_rate_hz: int, quality: str = "HQ") -> None:
        self.in_rate_hz = in_rate_hz
        self.out_rate_hz = out_rate_hz
        self._stream = (
            None
            if in_rate_hz == out_rate_hz
            else soxr.ResampleStream(in_rate_hz, out_rate_hz, 1, dtype="int16", quality=quality)
        )

    def push(self, pcm: Pcm) -> Pcm:
        """What is available after ``pcm``; the filter holds a few milliseconds back."""
        if self._stream is None or pcm.size == 0:
            return pcm
        return np.asarray(self._stream.resample_chunk(pcm), np.int16)

    def flush(self) -> Pcm:
        """The rest of the stream. Nothing may be pushed afterwards."""
        if self._stream is None:
            return silence(0)
        return np.asarray(self._stream.resample_chunk(silence(0), last=True), np.int16)


def resample(pcm: Pcm, in_rate_hz: int, out_rate_hz: int) -> Pcm:
    """Resample a whole recording; the result has ``round(n * out / in)`` samples, within one."""
    if in_rate_hz == out_rate_hz or pcm.size == 0:
        return pcm
    return np.asarray(soxr.resample(pcm, in_rate_hz, out_rate_hz), np.int16)
