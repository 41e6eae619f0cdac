"""WAV files: a reader that takes what people have, and a writer whose file can be played at any moment.

The reader goes through the file once, front to back, in blocks, so that a recording of hours needs no more memory than
one of seconds and a pipe does as well as a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from agents.base.errors import InputError
from audio.io.riff import WavFormat, WavHeader, bytes_left, read_exactly, read_header, to_mono
from audio.pcm import Pcm
from audio.resample import StreamResampler

_BLOCK_BYTES = 1 << 18
_BLOCK_S = 0.5


class WavAudio:
    """An open WAV file with at least one sample of sound.

    Attributes:
        rate_hz: sample rate.
        channels: 1…64.
        frames: frames (samples per channel) that the header promises; None where it does not know (a live recording).
        truncated: whether the file holds less than its header promises. Known at once for files on disk, for pipes
            when everything was read.
    """

    def __init__(self, stream: BinaryIO, header: WavHeader, name: str, *, owned: bool) -> None:
        self._stream = stream
        self._owned = owned
        self._name = name
        self.format: WavFormat = header.format
        self.rate_hz = header.format.rate_hz
        self.channels = header.format.channels
        self.frames = None if header.data_bytes is None else header.data_bytes // self._frame_bytes
        self._left = header.data_bytes
        self.truncated = self._is_short(header)
        self._read = False
        first = self._frame_bytes if header.data_bytes is None else min(self._frame_bytes, header.data_bytes)
        self._ahead = header.ahead + read_exactly(stream, first - len(header.ahead))
        if len(self._ahead) < self._frame_bytes:
            self.close()
            raise InputError(
                "ERR_WAV_EMPTY", f"{name} is a WAV file without any sound in it.", "Record or export it again."
            )

    @property
    def _frame_bytes(self) -> int:
        return self.format.frame_bytes

    @property
    def seconds(self) -> float | None:
        """Length that the header promises; None where it does not know."""
        return None if self.frames is None else self.frames / self.rate_hz

    def _is_short(self, header: WavHeader) -> bool:
        if header.data_bytes is None:
            return False
        there = bytes_left(self._stream)
        return bool(header.data_bytes % self._frame_bytes) or (there is not None and there < header.data_bytes)

    def mono(self) -> Iterator[Pcm]:
        """Blocks of at most half a second at the file's own rate, channels averaged. Only once; closes the file.

        Raises:
            InputError: ``ERR_WAV_READ``, the disk failed.
        """
        if self._read:
            raise RuntimeError("the sound of a WavAudio can be read only once")
        self._read = True
        size = self._frame_bytes * max(1, min(int(self.rate_hz * _BLOCK_S), _BLOCK_BYTES // self._frame_bytes))
        try:
            data = self._next(size)
            while whole := len(data) - len(data) % self._frame_bytes:
                yield to_mono(data[:whole], self.format)
                self.truncated = self.truncated or whole < len(data)
                data = self._next(size)
            self.truncated = self.truncated or bool(data) or bool(self._left)
        finally:
            self.close()

    def blocks(self, rate_hz: int) -> Iterator[Pcm]:
        """Blocks of mono PCM at ``rate_hz``, resampled without seams. Only once."""
        resampler = StreamResampler(self.rate_hz, rate_hz)
        for block in self.mono():
            out = resampler.push(block)
            if out.size:
                yield out
        tail = resampler.flush()
        if tail.size:
            yield tail

    def read(self, rate_hz: int) -> Pcm:
        """The whole sound at ``rate_hz``; for short files."""
        return np.concatenate([np.zeros(0, np.int16), *self.blocks(rate_hz)])

    def _next(self, size: int) -> bytes:
        """The next ``size`` bytes of sound, fewer only at the end."""
        if self._left is not None:
            size = min(size, self._left)
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        try:
            data = ahead + read_exactly(self._stream, size - len(ahead))
        except OSError as fault:
            raise InputError("ERR_WAV_READ", f"{self._name} cannot be read to its end.", None, fault) from fault
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file if it was opened here; idempotent."""
        if self._owned:
            self._stream.close()

    def __enter__(self) -> WavAudio:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def read_wav(source: str | Path | BinaryIO) -> WavAudio:
    """Open a WAV file, or one that arrives through an open binary stream.

    Understood: 8 to 32-bit integers, 32 and 64-bit floats, A-law and mu-law, plain, extensible and 64-bit headers,
    4 to 384 kHz, 1 to 64 channels, headers of recordings that never learned their length, and files cut short.

    Raises:
        InputError: ``ERR_WAV_MISSING``, ``ERR_WAV_DIRECTORY``, ``ERR_WAV_ACCESS``, ``ERR_WAV_EMPTY`` (no bytes, or no
            sound), ``ERR_WAV_FORMAT`` (not a WAV file, or a broken header), ``ERR_WAV_CODEC``, ``ERR_WAV_CHANNELS``,
            ``ERR_WAV_RATE``.
    """
    if not isinstance(source, str | Path):
        name = str(getattr(source, "name", "the input"))
        return WavAudio(source, read_header(source, name), name, owned=False)
    path = Path(source)
    stream = _open(path)
    try:
        return WavAudio(stream, read_header(stream, str(path)), str(path), owned=True)
    except BaseException:
        stream.close()
        raise


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise InputError("ERR_WAV_MISSING", f"There is no file {path}.", None, fault) from fault
    except IsADirectoryError as fault:
        raise InputError("ERR_WAV_DIRECTORY", f"{path} is a folder, not a WAV file.", None, fault) from fault
    except OSError as fault:
        raise InputError(
            "ERR_WAV_ACCESS", f"{path} cannot be opened: {fault.strerror or fault}.", "Check its permissions.", fault
        ) from fault
