"""Band-limited resampling of PCM streams (soxr).

The filter runs on floats: soxr dithers integers with noise of its own, so that the same recording would give other
samples each time and silence would not stay silent.
"""

from __future__ import annotations

import numpy as np
import soxr

from audio.pcm import Pcm, round_to_pcm, silence


class StreamResampler:
    """Resamples a stream chunk by chunk without seams; the same input gives the same output, to the sample.

    Args:
        in_rate_hz: rate of what is pushed.
        out_rate_hz: rate of what comes out; equal rates pass through.
        quality: soxr quality. ``HQ`` (130 dB) holds 35 to 75 ms back until ``flush``; ``LQ`` (110 dB, more than 16 bits
            need) about 20 ms, for live capture.
    """

    def __init__(self, in_rate_hz: int, out_rate_hz: int, quality: str = "HQ") -> None:
        self.in_rate_hz = in_rate_hz
        self.out_rate_hz = out_rate_hz
        self._stream = (
            None
            if in_rate_hz == out_rate_hz
            else soxr.ResampleStream(in_rate_hz, out_rate_hz, 1, dtype="float32", quality=quality)
        )

    def push(self, pcm: Pcm) -> Pcm:
        """What is available after ``pcm``; the filter works in blocks, so many pushes give nothing."""
        if self._stream is None or pcm.size == 0:
            return pcm
        return round_to_pcm(self._stream.resample_chunk(pcm.astype(np.float32)))

    def flush(self) -> Pcm:
        """The rest of the stream. Nothing may be pushed afterwards."""
        if self._stream is None:
            return silence(0)
        return round_to_pcm(self._stream.resample_chunk(np.zeros(0, np.float32), last=True))


def resample(pcm: Pcm, in_rate_hz: int, out_rate_hz: int) -> Pcm:
    """Resample a whole recording; the result has ``round(n * out / in)`` samples, within one."""
    if in_rate_hz == out_rate_hz or pcm.size == 0:
        return pcm
    return round_to_pcm(soxr.resample(pcm.astype(np.float32), in_rate_hz, out_rate_hz))
