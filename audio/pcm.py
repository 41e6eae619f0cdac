"""PCM: the one sample format between all parts, and conversion to and from it.

Samples are signed 16-bit, mono, in ``numpy`` arrays of shape ``(n,)``. The capture path runs at 16 kHz in frames of
10 ms (160 samples); the playback path at the rate of its sink.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pcm: TypeAlias = npt.NDArray[np.int16]
"""Signed 16-bit mono samples, shape (n,)."""

Floats: TypeAlias = npt.NDArray[np.float32]
"""Samples in -1…1, shape (n,)."""

CAPTURE_RATE_HZ = 16_000
FRAME_MS = 10
FRAME_SAMPLES = CAPTURE_RATE_HZ * FRAME_MS // 1000
"""Samples of one capture frame: 160."""


def silence(samples: int) -> Pcm:
    """``samples`` zero samples."""
    return np.zeros(samples, np.int16)


def wire_bytes(samples: npt.NDArray[np.int16]) -> bytes:
    """Samples as they stand in files and on wires: s16le, channels (a second axis) interleaved."""
    return samples.astype("<i2", copy=False).tobytes()


def float_to_pcm(x: npt.NDArray[np.floating]) -> Pcm:
    """-1…1 to int16: clamps, scales negatives by 32768 and the rest by 32767; NaN becomes 0."""
    x = np.nan_to_num(np.asarray(x, np.float32), nan=0.0, posinf=1.0, neginf=-1.0)
    x = np.clip(x, -1.0, 1.0)
    return np.rint(np.where(x < 0, x * 32768.0, x * 32767.0)).astype(np.int16)


def pcm_to_float(pcm: Pcm) -> Floats:
    """int16 to -1…1, the inverse of ``float_to_pcm``."""
    x = pcm.astype(np.float32)
    return np.where(x < 0, x / np.float32(32768.0), x / np.float32(32767.0)).astype(np.float32)


def round_to_pcm(x: npt.NDArray[np.floating]) -> Pcm:
    """Floats on the scale of int16 (full scale 32768) to int16: rounds and clamps; NaN becomes 0."""
    x = np.nan_to_num(np.asarray(x), nan=0.0, posinf=32767.0, neginf=-32768.0)
    return np.clip(np.rint(x), -32768, 32767).astype(np.int16)


def rms(pcm: Pcm) -> float:
    """Root mean square level on a scale of 0…1 (full scale 32768); 0 for an empty array."""
    if pcm.size == 0:
        return 0.0
    x = pcm.astype(np.float64)
    return math.sqrt(float(x.dot(x)) / x.size) / 32768.0


def ms_to_samples(ms: float, rate_hz: int) -> int:
    """Milliseconds to samples, rounded."""
    return round(ms * rate_hz / 1000)


class ByteJoiner:
    """Turns a stream of little-endian s16 byte chunks of any length into PCM; an odd byte waits for the next chunk."""

    def __init__(self) -> None:
        self._carry = b""

    def push(self, chunk: bytes | bytearray | memoryview) -> Pcm:
        """The samples that are complete after ``chunk``."""
        data = self._carry + bytes(chunk)
        whole = len(data) - len(data) % 2
        self._carry = data[whole:]
        return np.frombuffer(data[:whole], dtype="<i2").astype(np.int16)


class FrameCutter:
    """Cuts a stream of PCM chunks into frames of exactly ``size`` samples; the remainder waits for more.

    Frames never share memory with the chunks, so a sound card's buffer may be reused at once.
    """

    def __init__(self, size: int = FRAME_SAMPLES) -> None:
        self.size = size
        self._rest: Pcm = silence(size)
        self._filled = 0

    def push(self, pcm: Pcm) -> list[Pcm]:
        """The whole frames available after ``pcm``, in order."""
        size, filled = self.size, self._filled
        needed = size - filled
        if pcm.size < needed:
            self._rest[filled : filled + pcm.size] = pcm
            self._filled = filled + pcm.size
            return []
        frames: list[Pcm] = []
        at = 0
        if filled:
            frame, at = self._rest.copy(), needed
            frame[filled:] = pcm[:at]
            frames.append(frame)
        end = pcm.size - (pcm.size - at) % size
        if end > at:
            whole = pcm[at:end].copy()
            frames += [whole] if whole.size == size else [whole[i : i + size] for i in range(0, whole.size, size)]
        self._filled = pcm.size - end
        self._rest[: self._filled] = pcm[end:]
        return frames

    @property
    def pending(self) -> int:
        """Samples that wait for the rest of their frame."""
        return self._filled

    def flush(self) -> Pcm | None:
        """The remainder, padded with silence to a whole frame, or None."""
        if not self._filled:
            return None
        frame = self._rest.copy()
        frame[self._filled :] = 0
        self._filled = 0
        return frame

    def reset(self) -> None:
        """Forget the remainder."""
        self._filled = 0
