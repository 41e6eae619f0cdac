"""Samples as the text that realtime protocols carry: base64 of s16le."""

from __future__ import annotations

import base64
import binascii

import numpy as np

from audio.pcm import Pcm, silence, wire_bytes


def encode_samples(pcm: Pcm) -> str:
    """``pcm`` as base64."""
    return base64.b64encode(wire_bytes(pcm)).decode("ascii")


def decode_samples(text: str) -> Pcm:
    """The samples in ``text``. Half a sample at the end is dropped rather than played as noise; no base64 is none."""
    try:
        data = base64.b64decode(text)
    except (binascii.Error, ValueError):
        return silence(0)
    return np.frombuffer(data[: len(data) - len(data) % 2], "<i2").astype(np.int16)
