"""The user's sound: kept until it is a turn, and watched for beginnings and ends of speech."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum

import numpy as np

from agents.base.clock import infer
from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples, silence
from audio.resample import StreamResampler
from audio.vad.base import SpeechEnd, SpeechRealStart, SpeechStart, VadAdapter
from realtime.s2s.turn_detection import SemanticVad, ServerVad
from realtime.serving.contract import Ears, Engine
from realtime.serving.limits import Limits
from realtime.serving.refusal import Refusal

STEP_SAMPLES = CAPTURE_RATE_HZ // 10
"""The detector is given so much at a time; others have their turn in between."""

SEMANTIC_EARS = Ears(threshold=0.5, silence_ms=350)
"""For turns that a judge ends: how soon it is asked."""

SEMANTIC_PADDING_MS = 300

VAD_COST_S = 0.1
"""Declared time of loading a voice detector, on the virtual clock."""


@dataclass(frozen=True)
class Began:
    """Somebody speaks since sample ``start``, the padding included."""

    start: int


@dataclass(frozen=True)
class Paused:
    """Silence after speech: a turn of ``sound``, or a pause in one. ``end`` is where the detector became sure."""

    start: int
    end: int
    sound: Pcm
    forced: bool = False


Heard = Began | Paused


class Floor(Enum):
    """Who has it."""

    QUIET = "quiet"
    SPEAKING = "speaking"
    PAUSED = "paused"


_MOVES = {
    Floor.QUIET: frozenset({Floor.SPEAKING}),
    Floor.SPEAKING: frozenset({Floor.PAUSED, Floor.QUIET}),
    Floor.PAUSED: frozenset({Floor.SPEAKING, Floor.QUIET}),
}


class Listening:
    """The input buffer of a session. Samples are counted at 16 kHz since the session began.

    Args:
        engine: makes voice detectors.
        limits: how much sound is kept.
    """

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._detection: ServerVad | SemanticVad | None = None
        self._vad: VadAdapter | None = None
        self._vad_origin = 0
        self._resampler: StreamResampler | None = None
        self._kept: list[Pcm] = []
        self._first = self.position = 0
        self._start = 0
        self._hold_until: int | None = None
        self.floor = Floor.QUIET

    @property
    def held(self) -> int:
        """Samples that are not part of a turn yet."""
        return self.position - self._first

    async def detect(self, detection: ServerVad | SemanticVad | None) -> None:
        """Watch for speech in this way from now on, or not at all."""
        if detection == self._detection:
            return
        self._detection = detection
        self._settle()
        if self._vad is not None:
            self._vad.close()
            self._vad = None
        if detection is not None:
            ears = SEMANTIC_EARS
            if isinstance(detection, ServerVad):
                ears = Ears(detection.threshold, detection.silence_duration_ms)
            self._vad = await infer(lambda: self._engine.vad(ears), cost_s=VAD_COST_S)
            self._vad_origin = self.position

    def to_capture_rate(self, pcm: Pcm, rate_hz: int) -> list[Pcm]:
        """More sound, in steps of 16 kHz that ``hear`` takes. Raises ``Refusal`` where no more is taken."""
        seconds = pcm.size / rate_hz
        if self._detection is None and self.held / CAPTURE_RATE_HZ + seconds > self._limits.buffer_s:
            message = f"More than {self._limits.buffer_s:g} s of sound wait to be committed."
            raise Refusal("input_audio_buffer_full", message, param="audio")
        if self._resampler is None or self._resampler.in_rate_hz != rate_hz:
            self._resampler = StreamResampler(rate_hz, CAPTURE_RATE_HZ, "LQ")
        ready = self._resampler.push(pcm)
        return [ready[at : at + STEP_SAMPLES] for at in range(0, ready.size, STEP_SAMPLES)]

    async def hear(self, pcm: Pcm) -> list[Heard]:
        """One step of sound, and what came of it."""
        self._kept.append(pcm)
        self.position += pcm.size
        if self._vad is None or self._detection is None:
            return []
        await asyncio.sleep(0)
        heard: list[Heard] = []
        for event in self._vad.process(pcm):
            at = event.sample + self._vad_origin
            begins = isinstance(event, SpeechRealStart if self._vad.supports_real_start else SpeechStart)
            if begins and self.floor is not Floor.SPEAKING:
                heard += self._began(at)
            elif isinstance(event, SpeechEnd) and self.floor is Floor.SPEAKING:
                heard.append(self._paused(min(at, self.position)))
        if self.floor is Floor.SPEAKING and self.position - self._start > self._limits.turn_s * CAPTURE_RATE_HZ:
            heard.append(self._paused(self.position, forced=True))
            self._vad.reset()  # whoever still speaks begins a new turn
        if self.floor is Floor.QUIET:
            self._forget_silence()
        return heard

    def hold(self, milliseconds: int) -> None:
        """The pause may be none: wait so much longer for the user to speak on."""
        self._hold_until = self.position + ms_to_samples(milliseconds, CAPTURE_RATE_HZ)

    def is_over(self) -> bool:
        """Whether the pause that ``hold`` was said of is the end."""
        return self.floor is Floor.PAUSED and self._hold_until is not None and self.position >= self._hold_until

    def take(self) -> Pcm:
        """All sound that is kept, which is a turn now."""
        sound = np.concatenate(self._kept) if self._kept else silence(0)
        self.clear()
        return sound

    def take_until(self, end: int) -> None:
        """The turn up to ``end`` is over; what came after it may belong to the next."""
        rest = self._between(end, self.position)
        self._kept, self._first = [rest], self.position - rest.size
        self._settle()

    def clear(self) -> None:
        """Forget what is kept."""
        self._kept, self._first = [], self.position
        self._settle()
        if self._vad is not None:
            self._vad.reset()

    def close(self) -> None:
        """Let the detector go; idempotent."""
        if self._vad is not None:
            self._vad.close()
            self._vad = None

    def _began(self, sample: int) -> list[Heard]:
        resumed = self.floor is Floor.PAUSED
        self._move(Floor.SPEAKING)
        self._hold_until = None
        if resumed:
            return []
        self._start = max(self._first, sample - self._padding - self._noticed_after)
        return [Began(self._start)]

    def _paused(self, end: int, *, forced: bool = False) -> Paused:
        self._move(Floor.PAUSED)
        return Paused(self._start, end, self._between(self._start, end), forced)

    def _settle(self) -> None:
        self._hold_until = None
        if self.floor is not Floor.QUIET:
            self._move(Floor.QUIET)

    def _move(self, floor: Floor) -> None:
        if floor not in _MOVES[self.floor]:
            raise RuntimeError(f"the floor goes from {self.floor} to {floor}")
        self.floor = floor

    @property
    def _padding(self) -> int:
        milliseconds = SEMANTIC_PADDING_MS
        if isinstance(self._detection, ServerVad):
            milliseconds = self._detection.prefix_padding_ms
        return ms_to_samples(milliseconds, CAPTURE_RATE_HZ)

    @property
    def _noticed_after(self) -> int:
        """Speech is confirmed so much after it has begun."""
        return ms_to_samples(300, CAPTURE_RATE_HZ)

    def _between(self, start: int, end: int) -> Pcm:
        whole = np.concatenate(self._kept) if self._kept else silence(0)
        return whole[max(0, start - self._first) : max(0, end - self._first)]

    def _forget_silence(self) -> None:
        """Keep only what may precede speech."""
        spare = self._padding + self._noticed_after + CAPTURE_RATE_HZ // 2
        while self._kept and self.held - self._kept[0].size >= spare:
            self._first += self._kept.pop(0).size
