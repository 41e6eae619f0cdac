"""Sound as it stands in a client's messages, and as it is here."""

from __future__ import annotations

import base64
import binascii

import numpy as np

from audio.pcm import Pcm, wire_bytes
from realtime.serving import g711
from realtime.serving.refusal import Refusal
from realtime.serving.settings import AlawFormat, PcmFormat, UlawFormat

AnyFormat = PcmFormat | UlawFormat | AlawFormat


def rate_hz(sound: AnyFormat) -> int:
    """Samples per second."""
    return sound.rate if isinstance(sound, PcmFormat) else g711.RATE_HZ


def decoded(text: str, sound: AnyFormat, param: str = "audio") -> Pcm:
    """The samples in base64 ``text``. Raises ``Refusal`` for no base64, and for half a sample."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal("invalid_value", f"{param} is no base64.", param=param) from None
    match sound:
        case UlawFormat():
            return g711.decode_ulaw(data)
        case AlawFormat():
            return g711.decode_alaw(data)
        case _:
            if len(data) % 2:
                raise Refusal("invalid_value", f"{param} has half a sample: samples have two bytes.", param=param)
            return np.frombuffer(data, "<i2").astype(np.int16)


def encoded(pcm: Pcm, sound: AnyFormat) -> str:
    """``pcm``, which has the rate of ``sound``, as base64."""
    match sound:
        case UlawFormat():
            data = g711.encode_ulaw(pcm)
        case AlawFormat():
            data = g711.encode_alaw(pcm)
        case _:
            data = wire_bytes(pcm)
    return base64.b64encode(data).decode("ascii")
