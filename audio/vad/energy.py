"""The energy voice activity detector: loudness above an adaptive noise floor. Needs no model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples, rms, silence
from audio.vad.base import SpeechEnd, SpeechProb, SpeechStart, VadAdapter, VadEvent

_SLICE_SAMPLES = CAPTURE_RATE_HZ // 100
"""Longest stretch judged at once (10 ms), so that what is detected does not depend on how sound is delivered."""
_LEAST_SAMPLES = _SLICE_SAMPLES // 2
"""A shorter piece has no level of its own, since a voice swings more slowly: it is judged with what came before it."""
_FALL_S = 0.036
_RISE_S = 0.4
"""Time constants of the noise floor below and above its value."""
_CREEP_PER_S = 0.125
_CREEP_BASE_PER_S = 1.25e-4
"""How fast the floor rises during speech (relative and absolute), so that lasting noise is absorbed in about 15 s."""
_THRESHOLD_CAP = 0.5


@dataclass(frozen=True)
class EnergySettings:
    """What counts as speech for ``EnergyVad``.

    Attributes:
        threshold: lowest RMS of speech on a scale of 0…1.
        silence_ms: silence that ends a segment.
        min_speech_ms: continuous speech that begins one.
        adaptive: whether the threshold follows the noise floor.
        noise_floor_multiplier: threshold over noise floor.
        silent_frames: silence in chunks, as fed; replaces ``silence_ms`` when set.
        speech_frames: continuous speech in chunks, as fed; replaces ``min_speech_ms`` when set.
    """

    threshold: float = 0.01
    silence_ms: float = 1200.0
    min_speech_ms: float = 96.0
    adaptive: bool = True
    noise_floor_multiplier: float = 3.0
    silent_frames: int | None = None
    speech_frames: int | None = None


@dataclass
class _Run:
    """A stretch of one kind: how many samples and how many chunks it has lasted."""

    samples: int = 0
    chunks: int = 0

    def add(self, samples: int, chunks: int) -> None:
        self.samples += samples
        self.chunks += chunks

    def lasts(self, ms: float, chunks: int | None) -> bool:
        if chunks is not None:
            return self.chunks >= chunks
        return self.samples >= ms_to_samples(ms, CAPTURE_RATE_HZ)


class EnergyVad(VadAdapter):
    """Detects sound that is louder than the room. ``SpeechStart`` is established, not tentative.

    Args:
        settings: thresholds and durations.
    """

    supports_real_start = False

    def __init__(self, settings: EnergySettings | None = None) -> None:
        self.settings = settings or EnergySettings()
        self._floor: float | None = None
        self._fed = 0
        self._active = False
        self._speech = _Run()
        self._silence = _Run()
        self._last_speech = 0
        self._recent = silence(0)

    @property
    def is_speaking(self) -> bool:
        """Whether a segment is open."""
        return self._active

    @property
    def current_threshold(self) -> float:
        """The RMS (0…1) above which sound counts as speech now."""
        settings = self.settings
        if not settings.adaptive or self._floor is None:
            return settings.threshold
        return min(_THRESHOLD_CAP, max(settings.threshold, self._floor * settings.noise_floor_multiplier))

    def process(self, pcm: Pcm) -> list[VadEvent]:
        """Feed 16 kHz PCM of any length (also none); returns the events in order."""
        events: list[VadEvent] = []
        for begin in range(0, pcm.size, _SLICE_SAMPLES):
            piece = pcm[begin : begin + _SLICE_SAMPLES]
            self._judge(piece, begin + piece.size == pcm.size, events)
        return events

    def reset(self) -> None:
        """Forget the current segment, keep the noise floor; emits nothing."""
        self._active = False
        self._speech = _Run()
        self._silence = _Run()

    def _judge(self, piece: Pcm, ends_chunk: bool, events: list[VadEvent]) -> None:
        self._fed += piece.size
        level = self._level(piece)
        threshold = self.current_threshold
        is_speech = level > threshold
        events.append(SpeechProb(self._fed, min(1.0, level / (2 * threshold)) if threshold else float(is_speech)))
        if self.settings.adaptive:
            self._follow(level, is_speech, piece.size / CAPTURE_RATE_HZ)
        if is_speech:
            self._heard_speech(piece.size, int(ends_chunk), events)
        else:
            self._heard_silence(piece.size, int(ends_chunk), events)

    def _level(self, piece: Pcm) -> float:
        short = piece.size < _LEAST_SAMPLES
        stretch = np.concatenate((self._recent, piece))[-_SLICE_SAMPLES:] if short else piece
        self._recent = stretch
        # Where the microphone's zero is elsewhere, that is no sound.
        return rms(stretch - stretch.mean()) if stretch.size else 0.0

    def _follow(self, level: float, is_speech: bool, seconds: float) -> None:
        """Move the noise floor by what ``seconds`` of ``level`` say about it."""
        if self._floor is None:
            self._floor = level
        elif is_speech:
            self._floor = min(self._floor * math.exp(_CREEP_PER_S * seconds) + _CREEP_BASE_PER_S * seconds, level)
        else:
            tau = _FALL_S if level < self._floor else _RISE_S
            self._floor += (level - self._floor) * (1 - math.exp(-seconds / tau))

    def _heard_speech(self, samples: int, chunks: int, events: list[VadEvent]) -> None:
        self._silence = _Run()
        self._speech.add(samples, chunks)
        self._last_speech = self._fed
        if not self._active and self._speech.lasts(self.settings.min_speech_ms, self.settings.speech_frames):
            self._active = True
            events.append(SpeechStart(self._fed))

    def _heard_silence(self, samples: int, chunks: int, events: list[VadEvent]) -> None:
        self._speech = _Run()
        if not self._active:
            return
        self._silence.add(samples, chunks)
        if self._silence.lasts(self.settings.silence_ms, self.settings.silent_frames):
            self._active = False
            self._silence = _Run()
            events.append(SpeechEnd(self._fed, self._last_speech))
