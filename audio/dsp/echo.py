"""Echo cancellation: WebRTC's audio processing (AEC3), fed in exact 10 ms frames.

It learns by itself how late the echo is, as long as the reference keeps step with the microphone (see ``reference``).
Noise suppression and gain control stay off: recognisers hear better without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import structlog

from audio.pcm import CAPTURE_RATE_HZ, FRAME_MS, FRAME_SAMPLES, Pcm

log = structlog.get_logger(__name__)

REFERENCE_RATES_HZ = (16_000, 32_000, 48_000)
"""Rates of the reference that AEC3 takes."""
FAULTS_BEFORE_REBUILD = 8


class EchoCanceller(ABC):
    """Takes the echo of a reference out of a microphone's sound."""

    @abstractmethod
    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        """``frame`` (160 samples at 16 kHz) without the echo of the reference; may lag by up to 10 ms.

        Args:
            frame: what the microphone heard.
            reference: the 10 ms frames that were played meanwhile, in order.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget the room: a device or the way between speaker and microphone has changed."""


class WebRtcEchoCanceller(EchoCanceller):
    """AEC3 with its high-pass filter. About 0.2 ms per frame. One stream, one thread.

    A frame that cannot be processed is passed on as it is, logged and counted in ``faults``; after
    ``FAULTS_BEFORE_REBUILD`` in a row the module is made anew.

    Args:
        reference_rate_hz: one of ``REFERENCE_RATES_HZ``.
    """

    def __init__(self, reference_rate_hz: int = 48_000) -> None:
        if reference_rate_hz not in REFERENCE_RATES_HZ:
            raise ValueError(f"the reference must have one of the rates {REFERENCE_RATES_HZ}, not {reference_rate_hz}")
        self._rate_hz = reference_rate_hz
        self._size = reference_rate_hz * FRAME_MS // 1000
        self._faults_in_a_row = 0
        self.faults = 0
        self.reset()

    def reset(self) -> None:
        """See ``EchoCanceller``."""
        from livekit import rtc

        self._frame: Any = rtc.AudioFrame
        self._module: Any = rtc.AudioProcessingModule(echo_cancellation=True, high_pass_filter=True)

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        """See ``EchoCanceller``. Raises ``ValueError`` for anything that is not exactly 10 ms."""
        if frame.size != FRAME_SAMPLES or any(part.size != self._size for part in reference):
            raise ValueError("echo cancellation works on frames of exactly 10 ms")
        try:
            for part in reference:
                self._module.process_reverse_stream(self._frame(part.tobytes(), self._rate_hz, 1, self._size))
            heard = self._frame(frame.tobytes(), CAPTURE_RATE_HZ, 1, FRAME_SAMPLES)
            self._module.process_stream(heard)
        except Exception:
            self.faults += 1
            self._faults_in_a_row += 1
            log.exception("echo cancellation failed", in_a_row=self._faults_in_a_row)
            if self._faults_in_a_row % FAULTS_BEFORE_REBUILD == 0:
                self.reset()
            return frame
        self._faults_in_a_row = 0
        return np.frombuffer(bytes(heard.data), np.int16).copy()
