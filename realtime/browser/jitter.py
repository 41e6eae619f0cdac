"""The caller's microphone: sound that arrives in bunches becomes a steady stream."""

from __future__ import annotations

from collections import deque

import numpy as np

from audio.pcm import FRAME_SAMPLES, FrameCutter, Pcm, silence

TARGET_FRAMES = 4
"""Frames (40 ms) that must have arrived, or time that must have passed, before a stream begins: browsers send 20 ms at
a time, a little unevenly."""

EASY_FRAMES = 12
"""With more than this waiting (120 ms), quiet frames are left out until the stream has caught up."""

MOST_FRAMES = 200
"""The most that is kept (2 s); beyond it the oldest sound is dropped."""

QUIET_PEAK = 300
"""Peak of a frame that can be left out unnoticed, about -41 dB."""


class JitterBuffer:
    """A ``Source`` fed from a socket; where nothing has arrived there is silence, and it never ends by itself.

    Attributes:
        gaps: how often the stream ran dry.
        dropped: frames lost because too much arrived at once.
        skipped: quiet frames left out to catch up.
        silent_frames: how many frames were asked for since something arrived.
    """

    def __init__(self) -> None:
        self.gaps = self.dropped = self.skipped = 0
        self._frames: deque[Pcm] = deque()
        self._cutter = FrameCutter()
        self._flowing = False
        self._hesitated = 0
        self.silent_frames = 0

    @property
    def waiting(self) -> int:
        """Frames that have arrived and were not heard yet."""
        return len(self._frames)

    def push(self, pcm: Pcm) -> None:
        """Take sound of any length at 16 kHz."""
        self.silent_frames = 0
        self._frames.extend(self._cutter.push(pcm))
        while len(self._frames) > MOST_FRAMES:
            self._frames.popleft()
            self.dropped += 1

    def forget(self) -> None:
        """Drop what has arrived (another caller, or the microphone was switched off)."""
        self._frames.clear()
        self._cutter.reset()
        self._flowing = False
        self._hesitated = 0

    def frame(self) -> Pcm | None:
        """See ``audio.io.pump.Source``."""
        self.silent_frames += 1
        if not self._flowing:
            self._hesitated = self._hesitated + 1 if self._frames else 0
            if len(self._frames) < TARGET_FRAMES and self._hesitated <= TARGET_FRAMES:
                return silence(FRAME_SAMPLES)
            self._flowing = bool(self._frames)
            self._hesitated = 0
        if len(self._frames) > EASY_FRAMES and _quiet(self._frames[0]):
            self._frames.popleft()
            self.skipped += 1
        if not self._frames:
            self.gaps += self._flowing
            self._flowing = False
            return silence(FRAME_SAMPLES)
        return self._frames.popleft()

    def close(self) -> None:
        """See ``audio.io.pump.Source``."""
        self.forget()


def _quiet(frame: Pcm) -> bool:
    return int(np.abs(frame.astype(np.int32)).max()) < QUIET_PEAK
