"""The log-mel picture of the last eight seconds of speech that Smart Turn looks at.

It is Whisper's spectrogram (Radford et al. 2022, section 2.2: 25 ms Hann windows every 10 ms, 80 mel bands after
Slaney) of sound that was brought to zero mean and unit variance, ending with the sound and silent before it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from audio.pcm import CAPTURE_RATE_HZ, Floats

SECONDS = 8
MELS = 80
_WINDOW = 400
_STEP = 160
_FRAMES = SECONDS * CAPTURE_RATE_HZ // _STEP
_LINEAR_HZ_PER_MEL = 200 / 3
_LOG_FROM_HZ = 1000.0
_LOG_FROM_MEL = _LOG_FROM_HZ / _LINEAR_HZ_PER_MEL
_LOG_STEP = np.log(6.4) / 27
_RANGE = 8.0
"""Decades below the loudest cell at which the picture is cut."""


def log_mel(sound: Floats) -> npt.NDArray[np.float32]:
    """The picture of ``sound`` (16 kHz, -1…1, any length; only the last 8 s count), shape (1, 80, 800)."""
    samples = SECONDS * CAPTURE_RATE_HZ
    whole = np.zeros(samples, np.float32)
    tail = sound[-samples:]
    whole[samples - tail.size :] = tail
    whole = (whole - whole.mean()) / np.sqrt(whole.var() + 1e-7)
    padded = np.pad(whole, _WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_STEP][:_FRAMES]
    power = np.abs(np.fft.rfft(frames * _hann(), axis=1)) ** 2
    mel = np.log10(np.maximum(_filters() @ power.T.astype(np.float32), 1e-10))
    picture = (np.maximum(mel, mel.max() - _RANGE) + 4.0) / 4.0
    return picture.astype(np.float32)[None]


@cache
def _hann() -> npt.NDArray[np.float32]:
    return np.hanning(_WINDOW + 1)[:-1].astype(np.float32)


@cache
def _filters() -> npt.NDArray[np.float32]:
    """Triangles on Slaney's mel scale, each of unit area; shape (80, 201)."""
    bins_hz = np.fft.rfftfreq(_WINDOW, 1 / CAPTURE_RATE_HZ)
    edges_hz = _mel_to_hz(np.linspace(0.0, float(_hz_to_mel(CAPTURE_RATE_HZ / 2)), MELS + 2))
    widths = np.diff(edges_hz)
    ramps = edges_hz[:, None] - bins_hz[None, :]
    rising, falling = -ramps[:-2] / widths[:-1, None], ramps[2:] / widths[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return (triangles * (2.0 / (edges_hz[2:] - edges_hz[:-2]))[:, None]).astype(np.float32)


def _hz_to_mel(hz: float) -> float:
    if hz < _LOG_FROM_HZ:
        return hz / _LINEAR_HZ_PER_MEL
    return float(_LOG_FROM_MEL + np.log(hz / _LOG_FROM_HZ) / _LOG_STEP)


def _mel_to_hz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(
        mel < _LOG_FROM_MEL, mel * _LINEAR_HZ_PER_MEL, _LOG_FROM_HZ * np.exp(_LOG_STEP * (mel - _LOG_FROM_MEL))
    )
