"""The neural voice activity detector: Silero's probabilities, cut into segments."""

from __future__ import annotations

from pathlib import Path

import structlog

from audio.pcm import FrameCutter, Pcm
from audio.vad.base import VadAdapter, VadEvent
from audio.vad.segment import SegmentMachine, SegmentSettings
from audio.vad.silero_model import FRAME_MS, FRAME_SAMPLES, SileroStream, find_model, shared_session

log = structlog.get_logger(__name__)

FAULTS_BEFORE_REBUILD = 8
"""Frames in a row without an answer (a quarter of a second) after which the network is loaded anew."""


class SileroVad(VadAdapter):
    """Detects speech with Silero v6, synchronously inside ``process`` (about 0.1 ms per 32 ms of sound).

    A frame whose inference fails is logged, counted in ``faults`` and skipped; after ``FAULTS_BEFORE_REBUILD`` in a row
    the network is loaded again.

    Args:
        model_path: the ONNX file; found in the installed package or the weights store when None.
        settings: thresholds and durations.

    Raises:
        GloveError: the weights are missing or broken.
    """

    supports_real_start = True

    def __init__(self, model_path: Path | None = None, settings: SegmentSettings | None = None) -> None:
        self._path = model_path or find_model()
        self._stream: SileroStream | None = SileroStream(shared_session(self._path))
        self._machine = SegmentMachine(settings, FRAME_MS)
        self._cutter = FrameCutter(FRAME_SAMPLES)
        self._fed = 0
        self._faults_in_a_row = 0
        self.faults = 0

    @property
    def is_speaking(self) -> bool:
        """Whether a segment is open."""
        return self._machine.is_speaking

    def process(self, pcm: Pcm) -> list[VadEvent]:
        """Feed 16 kHz PCM of any length; returns the events of the frames it completes. Nothing after ``close``."""
        if self._stream is None:
            return []
        self._fed += pcm.size
        frames = self._cutter.push(pcm)
        end = self._fed - self._cutter.pending - FRAME_SAMPLES * len(frames)
        events: list[VadEvent] = []
        for frame in frames:
            end += FRAME_SAMPLES
            probability = self._infer(self._stream, frame)
            if probability is not None:
                events += self._machine.feed(probability, end)
        return events

    def reset(self) -> None:
        """Forget segment, partial frame and recurrent state; emits nothing. Sample indexes go on."""
        self._cutter.reset()
        self._machine.reset()
        if self._stream is not None:
            self._stream.reset()

    def rebuild(self) -> None:
        """Forget everything and load the network again."""
        self.reset()
        if self._stream is not None:
            self._rebuild(self._stream)

    def set_ducked(self, ducked: bool) -> None:
        """Lower the bar while the agent speaks."""
        self._machine.set_ducked(ducked)

    def close(self) -> None:
        """Let go of the network; idempotent."""
        self._stream = None
        self._machine.reset()

    def _infer(self, stream: SileroStream, frame: Pcm) -> float | None:
        try:
            probability = stream.probability(frame)
        except Exception:
            self.faults += 1
            self._faults_in_a_row += 1
            log.exception("speech detection failed", in_a_row=self._faults_in_a_row)
            stream.reset()
            if self._faults_in_a_row % FAULTS_BEFORE_REBUILD == 0:
                self._rebuild(stream)
            return None
        self._faults_in_a_row = 0
        return probability

    def _rebuild(self, stream: SileroStream) -> None:
        try:
            stream.attach(shared_session(self._path, fresh=True))
        except Exception:
            log.exception("the speech detector cannot be loaded again")
