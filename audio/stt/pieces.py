"""Cutting long recordings into pieces that a segment recogniser can take, at places where nobody speaks."""

from __future__ import annotations

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm

_HOP_SAMPLES = CAPTURE_RATE_HZ // 100
_QUIET_HOPS = 20
_EARLIEST = 0.6
"""A cut is looked for in the last part of the longest allowed piece, from this fraction of it on."""

_UNSPACED = frozenset({"ja", "zh", "yue", "th", "lo", "my", "km"})


def split_at_quiet(pcm: Pcm, longest_samples: int) -> list[Pcm]:
    """Cut 16 kHz ``pcm`` into pieces of at most ``longest_samples``, each cut in the middle of the quietest 200 ms.

    Nothing is lost: the pieces joined are ``pcm``. Audio that fits is returned as the only piece, none as no piece.
    """
    pieces: list[Pcm] = []
    while pcm.size > longest_samples:
        cut = quietest(pcm, round(longest_samples * _EARLIEST), longest_samples)
        pieces.append(pcm[:cut])
        pcm = pcm[cut:]
    return [*pieces, pcm] if pcm.size else pieces


def join_texts(texts: list[str], language: str) -> str:
    """The texts of consecutive pieces as one, without spaces between them in languages that write none."""
    return ("" if language in _UNSPACED else " ").join(text for text in texts if text)


def quietest(pcm: Pcm, first: int, last: int) -> int:
    """The sample of 16 kHz ``pcm`` between ``first`` and ``last`` around which 200 ms carry the least energy.

    ``last`` if there are less than 200 ms between them.
    """
    hops = (last - first) // _HOP_SAMPLES
    if hops < _QUIET_HOPS:
        return last
    x = pcm[first : first + hops * _HOP_SAMPLES].astype(np.float64).reshape(hops, _HOP_SAMPLES)
    energy = np.convolve((x * x).mean(axis=1), np.ones(_QUIET_HOPS), mode="valid")
    return first + (int(energy.argmin()) + _QUIET_HOPS // 2) * _HOP_SAMPLES
