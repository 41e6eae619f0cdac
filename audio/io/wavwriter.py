"""A stereo WAV file that grows while it is written and can be played at any moment."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from types import TracebackType

import numpy as np

from agents.base.errors import GloveError
from audio.pcm import Pcm, wire_bytes

_HEADER_BYTES = 44
_FRAME_BYTES = 4
_FLUSH_S = 0.25
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StereoWavWriter:
    """Writes 16-bit stereo in place; header and sound on disk agree at least every quarter second of sound.

    A process that dies leaves a file that plays up to there, and so does a full disk. Past 4 GiB the header says
    "length unknown", which players understand.

    Args:
        path: the file, replaced if it exists.
        rate_hz: sample rate.

    Raises:
        GloveError: ``ERR_DISK_FULL``; ``ERR_WAV_WRITE`` if the file cannot be written for another reason.
    """

    def __init__(self, path: str | Path, rate_hz: int) -> None:
        self.path = Path(path)
        self.rate_hz = rate_hz
        self._waiting = bytearray()
        self._data_bytes = 0
        self._fd: int | None = None
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            self._write_at(self._header(0), 0)
        except OSError as fault:
            self._let_go()
            raise self._named(fault) from fault

    @property
    def frames(self) -> int:
        """Frames accepted so far."""
        return (self._data_bytes + len(self._waiting)) // _FRAME_BYTES

    def write(self, left: Pcm, right: Pcm) -> None:
        """Append sound; both sides have the same length.

        Raises:
            GloveError: ``ERR_DISK_FULL`` or ``ERR_WAV_WRITE``; the file is closed then, and plays up to what fitted.
        """
        if left.shape != right.shape:
            raise ValueError(f"left has {left.size} samples, right has {right.size}")
        if self._fd is None:
            raise ValueError("the file is closed")
        self._waiting += wire_bytes(np.stack((left, right), axis=1))
        if len(self._waiting) >= int(_FLUSH_S * self.rate_hz) * _FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        """Bring everything accepted, and a header that says so, to the file.

        Raises:
            GloveError: as ``write``.
        """
        try:
            while self._waiting:
                done = self._write_at(self._waiting, _HEADER_BYTES + self._data_bytes)
                self._data_bytes += done
                del self._waiting[:done]
            self._write_at(self._header(self._data_bytes), 0)
        except OSError as fault:
            self._give_up()
            raise self._named(fault) from fault

    def close(self) -> None:
        """Finish the file; idempotent.

        Raises:
            GloveError: as ``write``.
        """
        if self._fd is None:
            return
        self.flush()
        self._let_go()

    def _write_at(self, data: bytes | bytearray, offset: int) -> int:
        if self._fd is None:
            raise ValueError("the file is closed")
        return os.pwrite(self._fd, data, offset)

    def _give_up(self) -> None:
        """After a failed write: make the header tell what is there (it overwrites bytes that exist already)."""
        self._waiting.clear()
        try:
            self._write_at(self._header(self._data_bytes - self._data_bytes % _FRAME_BYTES), 0)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _named(self, fault: OSError) -> GloveError:
        if fault.errno in _DISK_FULL:
            return GloveError(
                "ERR_DISK_FULL", f"There is no room left to write {self.path}.", "Free some space and try again.", fault
            )
        return GloveError("ERR_WAV_WRITE", f"{self.path} cannot be written: {fault.strerror or fault}.", None, fault)

    def _header(self, data_bytes: int) -> bytes:
        if data_bytes + _HEADER_BYTES - 8 > 0xFFFF_FFFF:
            riff_bytes = data_bytes = 0xFFFF_FFFF
        else:
            riff_bytes = data_bytes + _HEADER_BYTES - 8
        return struct.pack(
            "<4sI4s4sIHHIIHH4sI",
            *(b"RIFF", riff_bytes, b"WAVE"),
            *(b"fmt ", 16, 1, 2, self.rate_hz, self.rate_hz * _FRAME_BYTES, _FRAME_BYTES, 16),
            *(b"data", data_bytes),
        )

    def __enter__(self) -> StereoWavWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()
