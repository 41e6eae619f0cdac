"""Sound as Wyoming carries it: PCM of any rate, width and number of channels, stated with every chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from wyoming.audio import AudioChunk, AudioFormat

from audio.pcm import Pcm, wire_bytes
from audio.providers.wyoming.wire import WireFault
from audio.resample import StreamResampler

WIDTHS = (1, 2, 3, 4)
"""Bytes of a sample; a single byte is unsigned, as in WAV files."""

RATES_HZ = range(8_000, 192_001)
MOST_CHANNELS = 8
CHUNK_S = 0.1


class SoundReader:
    """Turns the chunks of one stream into mono PCM of one rate.

    Args:
        rate_hz: rate of what comes out; the stream's own, which is then known after the first chunk, when None.
    """

    def __init__(self, rate_hz: int | None = None) -> None:
        self.rate_hz = rate_hz
        self._resampler: StreamResampler | None = None
        self._rest = b""
        self._format: tuple[int, int, int] | None = None

    def push(self, chunk: AudioChunk) -> Pcm:
        """The sound that is complete after ``chunk``; a stream may change its format. Raises ``WireFault``."""
        if (chunk.rate, chunk.width, chunk.channels) != self._format:
            self._begin(chunk)
        data = self._rest + chunk.audio
        size = chunk.width * chunk.channels
        whole = len(data) - len(data) % size
        self._rest = data[whole:]
        mono = _mono(_samples(data[:whole], chunk.width), chunk.channels)
        return mono if self._resampler is None else self._resampler.push(mono)

    def flush(self) -> Pcm:
        """What is left when the stream has ended. Nothing may be pushed afterwards, except a new stream."""
        rest = np.zeros(0, np.int16) if self._resampler is None else self._resampler.flush()
        self._resampler, self._format = None, None
        return rest

    def _begin(self, chunk: AudioFormat) -> None:
        check_format(chunk)
        self._format = (chunk.rate, chunk.width, chunk.channels)
        self._rest = b""
        self.rate_hz = self.rate_hz or chunk.rate
        self._resampler = None if chunk.rate == self.rate_hz else StreamResampler(chunk.rate, self.rate_hz)


def check_format(told: AudioFormat) -> None:
    """Raise ``WireFault`` where ``told`` is no format of sound that can be heard."""
    if told.rate not in RATES_HZ or told.width not in WIDTHS or not 1 <= told.channels <= MOST_CHANNELS:
        raise WireFault(f"sound of {told.rate} Hz, {told.width} bytes and {told.channels} channels is not understood")


def chunks(pcm: Pcm, rate_hz: int) -> Iterator[AudioChunk]:
    """``pcm`` in chunks of a tenth of a second, with their times in milliseconds."""
    size = round(CHUNK_S * rate_hz)
    for at in range(0, pcm.size, size):
        yield chunk_of(pcm[at : at + size], rate_hz, at)


def chunk_of(pcm: Pcm, rate_hz: int, at: int = 0) -> AudioChunk:
    """``pcm``, which begins at sample ``at`` of its stream, as one chunk."""
    return AudioChunk(rate_hz, 2, 1, wire_bytes(pcm), timestamp=at * 1000 // rate_hz)


def _samples(data: bytes, width: int) -> Pcm:
    match width:
        case 1:
            return (np.frombuffer(data, np.uint8).astype(np.int16) - 128) * np.int16(256)
        case 2:
            return np.frombuffer(data, "<i2").astype(np.int16)
        case 3:
            # The two upper bytes of each sample are its 16-bit value.
            return np.frombuffer(data, np.uint8).reshape(-1, 3)[:, 1:].copy().view("<i2")[:, 0].astype(np.int16)
        case _:
            return (np.frombuffer(data, "<i4") >> 16).astype(np.int16)


def _mono(samples: npt.NDArray[np.int16], channels: int) -> Pcm:
    if channels == 1:
        return samples
    return np.rint(samples.reshape(-1, channels).mean(axis=1)).astype(np.int16)
