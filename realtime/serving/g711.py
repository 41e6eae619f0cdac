"""G.711: telephone sound of 8 bits a sample, as μ-law and A-law (ITU-T G.711)."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from audio.pcm import Pcm

RATE_HZ = 8_000

_Table = npt.NDArray[np.int16]


def decode_ulaw(data: bytes) -> Pcm:
    """μ-law to samples."""
    return _ulaw()[np.frombuffer(data, np.uint8)]


def encode_ulaw(pcm: Pcm) -> bytes:
    """Samples to μ-law."""
    return _nearest(pcm, _ulaw())


def decode_alaw(data: bytes) -> Pcm:
    """A-law to samples."""
    return _alaw()[np.frombuffer(data, np.uint8)]


def encode_alaw(pcm: Pcm) -> bytes:
    """Samples to A-law."""
    return _nearest(pcm, _alaw())


@cache
def _ulaw() -> _Table:
    code = ~np.arange(256) & 0xFF
    magnitude = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 7)) - 0x84
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)


@cache
def _alaw() -> _Table:
    code = np.arange(256) ^ 0x55
    segment, step = code >> 4 & 7, (code & 0x0F) << 4
    magnitude = np.where(segment == 0, step + 8, (step + 0x108) << np.maximum(segment - 1, 0))
    return np.where(code & 0x80, magnitude, -magnitude).astype(np.int16)


def _nearest(pcm: Pcm, table: _Table) -> bytes:
    """The code whose value lies nearest to each sample."""
    order = np.argsort(table, kind="stable")
    values = table[order].astype(np.int32)
    edges = (values[:-1] + values[1:]) / 2
    return order[np.searchsorted(edges, pcm)].astype(np.uint8).tobytes()
