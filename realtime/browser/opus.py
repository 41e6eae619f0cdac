"""Opus at 16 kHz, mono, with the library's own concealment and in-band error correction (RFC 6716, RFC 7587).

The rate and the channels of RTP (48 kHz, stereo) are signalling only: the codec takes and gives the rate that the rest
of the room works with, so nothing is resampled on the way. The library is the one that PyAV brings along, else the
system's; it is called directly because PyAV offers neither concealment nor error correction.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from pathlib import Path

import numpy as np

from agents.base.errors import GloveError
from audio.pcm import Pcm, silence

RATE_HZ = 16_000
FRAME_SAMPLES = 320
"""Samples of one packet: 20 ms."""

LONGEST_SAMPLES = RATE_HZ * 120 // 1000
"""No Opus packet holds more than 120 ms."""

BITRATE = 32_000
"""Bits per second for speech at 16 kHz; transparent for a voice."""

EXPECTED_LOSS_PERCENT = 10
"""How much loss the encoder prepares for with redundant copies of the packet before."""

COMPLEXITY = 5
"""0…10. Above this, speech at 16 kHz gains nothing that can be heard and costs twice the time."""

MAX_PACKET_BYTES = 1275
_APPLICATION_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_FEC, _SET_LOSS, _SET_DTX = 4002, 4010, 4012, 4014, 4016

_SAMPLES = ctypes.POINTER(ctypes.c_int16)


class OpusError(ValueError):
    """A packet that is no Opus packet."""


@cache
def library() -> ctypes.CDLL:
    """The codec library. Raises ``GloveError`` (``ERR_OPUS``) where there is none."""
    for name in _places():
        try:
            return _declared(ctypes.CDLL(name))
        except OSError:
            continue
    raise GloveError(
        "ERR_OPUS", "The Opus library is missing.", "Install libopus0; until then pages use their WebSocket."
    )


def _places() -> list[str]:
    import av

    bundled = sorted(map(str, Path(av.__file__).parent.parent.glob("av.libs/libopus*")))
    system = ctypes.util.find_library("opus")
    return [*bundled, *([system] if system else [])]


def _declared(lib: ctypes.CDLL) -> ctypes.CDLL:
    integer, pointer, error = ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)
    lib.opus_decoder_create.argtypes = [ctypes.c_int32, integer, error]
    lib.opus_decoder_create.restype = pointer
    lib.opus_decode.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int32, _SAMPLES, integer, integer]
    lib.opus_decoder_destroy.argtypes = [pointer]
    lib.opus_encoder_create.argtypes = [ctypes.c_int32, integer, integer, error]
    lib.opus_encoder_create.restype = pointer
    lib.opus_encode.argtypes = [pointer, _SAMPLES, integer, ctypes.c_char_p, ctypes.c_int32]
    lib.opus_encoder_destroy.argtypes = [pointer]
    return lib


class OpusDecoder:
    """Packets of one stream become samples, in order. ``close`` gives the memory back; idempotent."""

    def __init__(self) -> None:
        self._lib = library()
        fault = ctypes.c_int()
        self._state: int | None = self._lib.opus_decoder_create(RATE_HZ, 1, ctypes.byref(fault))
        self._last = FRAME_SAMPLES

    def decode(self, packet: bytes) -> Pcm:
        """The samples of ``packet``, at most 120 ms. Raises ``OpusError``."""
        pcm = self._run(packet, LONGEST_SAMPLES, fec=False)
        self._last = pcm.size or self._last
        return pcm

    def conceal(self, following: bytes | None = None) -> Pcm:
        """Samples for one lost packet, as long as the last one that came.

        ``following`` is the packet after it, where that has arrived: it may hold a copy of the lost one.
        """
        try:
            return self._run(following, self._last, fec=following is not None)
        except OpusError:
            return silence(self._last)

    def _run(self, packet: bytes | None, most: int, *, fec: bool) -> Pcm:
        if self._state is None:
            raise OpusError("the decoder is closed")
        out = silence(most)
        size = 0 if packet is None else len(packet)
        got = self._lib.opus_decode(self._state, packet, size, out.ctypes.data_as(_SAMPLES), most, int(fec))
        if got < 0:
            raise OpusError(f"not an Opus packet ({got})")
        return out[:got]

    def close(self) -> None:
        """See the class."""
        state, self._state = self._state, None
        if state is not None:
            self._lib.opus_decoder_destroy(state)

    def __del__(self) -> None:
        self.close()


class OpusEncoder:
    """Frames of 20 ms become packets; silence becomes packets of a few bytes. ``close`` is idempotent."""

    def __init__(self) -> None:
        self._lib = library()
        fault = ctypes.c_int()
        self._state: int | None = self._lib.opus_encoder_create(RATE_HZ, 1, _APPLICATION_VOIP, ctypes.byref(fault))
        self._out = ctypes.create_string_buffer(MAX_PACKET_BYTES)
        for request, value in (
            (_SET_BITRATE, BITRATE),
            (_SET_COMPLEXITY, COMPLEXITY),
            (_SET_FEC, 1),
            (_SET_LOSS, EXPECTED_LOSS_PERCENT),
            (_SET_DTX, 1),
        ):
            self._lib.opus_encoder_ctl(ctypes.c_void_p(self._state), request, ctypes.c_int32(value))

    def encode(self, frame: Pcm) -> bytes:
        """One packet for ``frame`` (320 samples). Raises ``OpusError`` for another length."""
        if self._state is None or frame.size != FRAME_SAMPLES:
            raise OpusError("a frame has 320 samples")
        samples = np.ascontiguousarray(frame, np.int16)
        size = self._lib.opus_encode(
            self._state, samples.ctypes.data_as(_SAMPLES), FRAME_SAMPLES, self._out, MAX_PACKET_BYTES
        )
        if size < 0:
            raise OpusError(f"the frame was not encoded ({size})")
        return self._out.raw[:size]

    def close(self) -> None:
        """See the class."""
        state, self._state = self._state, None
        if state is not None:
            self._lib.opus_encoder_destroy(state)

    def __del__(self) -> None:
        self.close()
