"""The WAV container: its header, and its sample formats as mono PCM.

Sources: Microsoft "Multimedia Data Standards Update" (WAVE_FORMAT_EXTENSIBLE), EBU Tech 3306 (RF64), ITU-T G.711.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from agents.base.errors import InputError
from audio.pcm import Pcm, round_to_pcm

MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 384_000
MAX_CHANNELS = 64
_INTEGER, _FLOAT, _ALAW, _MULAW, _EXTENSIBLE = 1, 3, 6, 7, 0xFFFE
_WIDTHS = {_INTEGER: (1, 2, 3, 4), _FLOAT: (4, 8), _ALAW: (1,), _MULAW: (1,)}
_CODEC_NAMES = {0x02: "MS ADPCM", 0x11: "IMA ADPCM", 0x31: "GSM 6.10", 0x50: "MPEG audio", 0x55: "MP3", 0xFF: "AAC"}
_OTHER_FILES = {
    b"ID3": "an MP3 file",
    b"\xff\xfb": "an MP3 file",
    b"\xff\xf3": "an MP3 file",
    b"fLaC": "a FLAC file",
    b"OggS": "an Ogg file",
    b"FORM": "an AIFF file",
    b"caff": "a CAF file",
    b"\x1aE\xdf\xa3": "a WebM or Matroska file",
    b"RIFX": "a big-endian WAV file",
}
_AFTER_EMPTY_DATA = (b"LIST", b"fact", b"id3 ", b"ID3 ", b"bext", b"cue ", b"smpl", b"JUNK", b"_PMX", b"iXML")
_UNKNOWN_LENGTH = 0x7FFF_F000
"""Lengths from here on are what programs write that stream a WAV file whose length they do not know yet."""
_MAX_FMT_BYTES = 1 << 16


@dataclass(frozen=True)
class WavFormat:
    """How samples are stored.

    Attributes:
        codec: 1 integer, 3 float, 6 A-law, 7 mu-law.
        channels: interleaved channels of a frame.
        rate_hz: frames per second.
        width: bytes of one sample of one channel.
    """

    codec: int
    channels: int
    rate_hz: int
    width: int

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame, all channels."""
        return self.channels * self.width


@dataclass(frozen=True)
class WavHeader:
    """What stands before the sound. ``data_bytes``: its length, None if the file does not know.

    ``ahead``: bytes of sound that had to be read to find that out.
    """

    format: WavFormat
    data_bytes: int | None
    ahead: bytes = b""


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    """``size`` bytes, fewer only at the end of ``stream`` (which may be a pipe that delivers in pieces)."""
    parts: list[bytes] = []
    while size > 0:
        part = stream.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_header(stream: BinaryIO, name: str) -> WavHeader:
    """Read up to the first byte of sound.

    Raises:
        InputError: see ``audio.io.wavfile.read_wav``.
    """
    head = read_exactly(stream, 12)
    _check_magic(head, name)
    wide_data: int | None = None
    fmt: WavFormat | None = None
    while True:
        chunk = read_exactly(stream, 8)
        if len(chunk) < 8:
            missing = "sound" if fmt else "description of its format"
            code = "ERR_WAV_EMPTY" if fmt else "ERR_WAV_FORMAT"
            raise InputError(code, f"{name} is a WAV file without any {missing} in it.", "Record or export it again.")
        kind, size = chunk[:4], int(struct.unpack("<I", chunk[4:])[0])
        if kind == b"data":
            if fmt is None:
                raise InputError("ERR_WAV_FORMAT", f"{name} has sound but no description of its format.")
            return _data_header(stream, fmt, size, wide_data)
        if kind == b"fmt ":
            fmt = _parse_fmt(_chunk_body(stream, size, _MAX_FMT_BYTES), name)
        elif kind == b"ds64":
            wide_data = _parse_ds64(_chunk_body(stream, size, _MAX_FMT_BYTES))
        else:
            _skip(stream, size + size % 2)


def _check_magic(head: bytes, name: str) -> None:
    if not head:
        raise InputError("ERR_WAV_EMPTY", f"{name} is empty.", "Record or export it again.")
    if head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE":
        return
    what = next((text for magic, text in _OTHER_FILES.items() if head.startswith(magic)), None)
    described = f"{name} is {what}, which is not read" if what else f"{name} is not a WAV file"
    raise InputError("ERR_WAV_FORMAT", f"{described}.", "Convert it, for example with `ffmpeg -i FILE out.wav`.")


def _data_header(stream: BinaryIO, fmt: WavFormat, size: int, wide: int | None) -> WavHeader:
    if wide is not None and size == 0xFFFF_FFFF:
        return WavHeader(fmt, wide)
    if size >= _UNKNOWN_LENGTH:
        return WavHeader(fmt, size if (bytes_left(stream) or 0) >= size else None)
    if size:
        return WavHeader(fmt, size)
    ahead = read_exactly(stream, 4)
    return WavHeader(fmt, 0) if ahead in _AFTER_EMPTY_DATA else WavHeader(fmt, None, ahead)


def bytes_left(stream: BinaryIO) -> int | None:
    """How much more ``stream`` holds; None where that cannot be known (a pipe)."""
    if not stream.seekable():
        return None
    here = stream.tell()
    end = stream.seek(0, 2)
    stream.seek(here)
    return end - here


def _chunk_body(stream: BinaryIO, size: int, most: int) -> bytes:
    body = read_exactly(stream, min(size, most))
    _skip(stream, size + size % 2 - len(body))
    return body


def _skip(stream: BinaryIO, size: int) -> None:
    while size > 0:
        part = stream.read(min(size, 1 << 16))
        if not part:
            return
        size -= len(part)


def _parse_ds64(body: bytes) -> int | None:
    return int(struct.unpack("<Q", body[8:16])[0]) if len(body) >= 16 else None


def _parse_fmt(body: bytes, name: str) -> WavFormat:
    if len(body) < 16:
        raise InputError("ERR_WAV_FORMAT", f"The header of {name} is broken.", "Record or export it again.")
    codec, channels, rate_hz, _, align, bits = struct.unpack("<HHIIHH", body[:16])
    if codec == _EXTENSIBLE and len(body) >= 26:
        codec = struct.unpack("<H", body[24:26])[0]
    if not 1 <= channels <= MAX_CHANNELS:
        raise InputError(
            "ERR_WAV_CHANNELS", f"{name} claims to have {channels} channels; 1 to {MAX_CHANNELS} are understood."
        )
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise InputError(
            "ERR_WAV_RATE", f"{name} claims a rate of {rate_hz} Hz; {MIN_RATE_HZ} to {MAX_RATE_HZ} Hz are understood."
        )
    if codec not in _WIDTHS:
        what = _CODEC_NAMES.get(codec, f"codec {codec}")
        raise InputError(
            "ERR_WAV_CODEC", f"{name} is a WAV file with {what} inside, which is not read.", "Convert it to PCM."
        )
    width = align // channels if align and align % channels == 0 else -(-bits // 8)
    if width not in _WIDTHS[codec] or not 1 <= bits <= 8 * width:
        raise InputError("ERR_WAV_CODEC", f"{name} has samples of {bits} bits, which are not read.", "Convert it.")
    return WavFormat(codec, channels, rate_hz, width)


def to_mono(data: bytes, fmt: WavFormat) -> Pcm:
    """Whole frames of ``data`` as mono PCM: the mean of the channels, rounded once."""
    if fmt.codec == _INTEGER and fmt.width == 2 and fmt.channels == 1:
        return np.frombuffer(data, "<i2").astype(np.int16)
    samples = _decode(data, fmt)
    if fmt.channels == 1:
        return round_to_pcm(samples)
    return round_to_pcm(samples.reshape(-1, fmt.channels).mean(axis=1))


def _decode(data: bytes, fmt: WavFormat) -> npt.NDArray[np.float64]:
    """Samples on the scale of int16, channels interleaved."""
    if fmt.codec == _FLOAT:
        floats: npt.NDArray[Any] = np.frombuffer(data, f"<f{fmt.width}").astype(np.float64)
        return np.clip(np.nan_to_num(floats, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0) * 32768.0
    if fmt.codec in (_ALAW, _MULAW):
        return _companding_table(fmt.codec)[np.frombuffer(data, np.uint8)]
    if fmt.width == 1:
        return (np.frombuffer(data, np.uint8).astype(np.float64) - 128.0) * 256.0
    if fmt.width == 3:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return wide.reshape(-1).view("<i4").astype(np.float64) / 65536.0
    return np.frombuffer(data, f"<i{fmt.width}").astype(np.float64) / (1.0 if fmt.width == 2 else 65536.0)


@cache
def _companding_table(codec: int) -> npt.NDArray[np.float64]:
    """The 256 values of A-law or mu-law bytes on the scale of int16 (ITU-T G.711)."""
    code = np.arange(256)
    if codec == _ALAW:
        code = code ^ 0x55
        positive = (code & 0x80) != 0
        exponent, mantissa = (code >> 4) & 7, (code & 15) * 16
        magnitude = np.where(exponent == 0, mantissa + 8, (mantissa + 264) << np.maximum(exponent - 1, 0))
    else:
        code = 255 - code
        positive = (code & 0x80) == 0
        magnitude = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132
    return np.where(positive, magnitude, -magnitude).astype(np.float64)
