"""Measuring a stereo recording of a conversation: left the user, right the agent."""

from __future__ import annotations

import json
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

AUDIBLE = 300
"""Absolute sample value above which the agent is audible (1 % of full scale)."""


@dataclass(frozen=True)
class Recording:
    """Both sides at one rate, int16."""

    left: npt.NDArray[np.int16]
    right: npt.NDArray[np.int16]
    rate_hz: int

    @property
    def seconds(self) -> float:
        """Length."""
        return self.left.size / self.rate_hz


def load(path: Path) -> Recording:
    """Read a stereo s16 WAV file."""
    with wave.open(str(path)) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        return Recording(frames[:, 0].copy(), frames[:, 1].copy(), file.getframerate())


def events(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stretches(track: npt.NDArray[np.int16], rate_hz: int, gap_s: float = 1.0) -> list[tuple[float, float]]:
    """Where the track is audible: (start, end) in seconds; quieter gaps shorter than ``gap_s`` do not split.

    Start and end are the first and last sample above 1 % of full scale.
    """
    loud = np.flatnonzero(np.abs(track.astype(np.int32)) > AUDIBLE)
    if loud.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(loud) > gap_s * rate_hz)
    starts = np.concatenate(([loud[0]], loud[breaks + 1]))
    ends = np.concatenate((loud[breaks], [loud[-1]]))
    return [(float(a) / rate_hz, float(b) / rate_hz) for a, b in zip(starts, ends, strict=True)]


def voice_to_voice(recording: Recording) -> list[float]:
    """Seconds from the end of each stretch of the user to the agent's next audible sample."""
    agent = np.flatnonzero(np.abs(recording.right.astype(np.int32)) > AUDIBLE) / recording.rate_hz
    user = stretches(recording.left, recording.rate_hz)
    result: list[float] = []
    for index, (_, end) in enumerate(user):
        following = user[index + 1][0] if index + 1 < len(user) else float("inf")
        answers = agent[(agent > end) & (agent < following)]
        if answers.size:
            result.append(float(answers[0] - end))
    return result
