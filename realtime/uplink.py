"""The user's sound on its way to a provider: at the rate that it wants, without delay."""

from __future__ import annotations

from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import StreamResampler


class Uplink:
    """Resamples the microphone's frames.

    The shortest filter is taken (cubic interpolation): it holds an eighth of a millisecond back, where the better ones
    hold twenty, and what it lets through lies above all that a microphone at 16 kHz has.

    Args:
        rate_hz: what the provider wants.
    """

    def __init__(self, rate_hz: int) -> None:
        self._resampler = StreamResampler(CAPTURE_RATE_HZ, rate_hz, "QQ")

    def push(self, frame: Pcm) -> Pcm:
        """What is to be sent for one frame at 16 kHz."""
        return self._resampler.push(frame)
