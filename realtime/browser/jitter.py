"""The caller's microphone: sound that arrives in bunches becomes a steady stream, as early as the network allows.

The buffer begins with little and learns: after each time it ran dry while more was on its way it waits for as much as
was late, and what was not needed for a while it gives back, in moments when nobody speaks.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from audio.pcm import FRAME_SAMPLES, FrameCutter, Pcm, silence

FIRST_FRAMES = 2
"""Frames (20 ms) that must have arrived, or time that must have passed, before the first stream begins."""

LEAST_FRAMES = 1
MOST_TARGET_FRAMES = 15
"""Bounds of what the buffer waits for, 10 to 150 ms; a network that is worse than that is heard with gaps."""

LOOK_FRAMES = 200
"""How long the least level is watched (2 s) before what was not needed is given back."""

CALM_LOOKS = 3
"""So many looks (6 s) without a gap, and the buffer dares to wait for one frame less."""

ENDED_FRAMES = 50
"""A stream that goes on after a longer gap than this (0.5 s) was not late: it had been stopped."""

EASY_FRAMES = 12
"""With more than this above the target waiting (120 ms), quiet frames are left out at once."""

MOST_FRAMES = 200
"""The most that is kept (2 s); beyond it the oldest sound is dropped."""

QUIET_PEAK = 300
"""Peak of a frame that can be left out unnoticed, about -41 dB."""


class JitterBuffer:
    """A ``Source`` fed from a socket; where nothing has arrived there is silence, and it never ends by itself.

    Attributes:
        target: frames that must have arrived before a stream begins or goes on.
        gaps: how often the stream ran dry.
        dropped: frames lost because too much arrived at once.
        skipped: quiet frames left out to catch up.
        silent_frames: how many frames were asked for since something arrived.
    """

    def __init__(self) -> None:
        self.target = FIRST_FRAMES
        self.gaps = self.dropped = self.skipped = 0
        self.silent_frames = 0
        self._frames: deque[Pcm] = deque()
        self._cutter = FrameCutter()
        self._flowing = False
        self._hesitated = 0
        self._dry_for: int | None = None
        self._calm = 0
        self._surplus = 0
        self._look()

    @property
    def waiting(self) -> int:
        """Frames that have arrived and were not heard yet."""
        return len(self._frames)

    def push(self, pcm: Pcm) -> None:
        """Take sound of any length at 16 kHz."""
        self.silent_frames = 0
        self._frames.extend(self._cutter.push(pcm))
        if self._frames and self._dry_for is not None:
            self._learn(self._dry_for)
            self._dry_for = None
        while len(self._frames) > MOST_FRAMES:
            self._frames.popleft()
            self.dropped += 1

    def forget(self) -> None:
        """Drop what has arrived, and what was learnt (another caller, or the microphone was switched off)."""
        self._frames.clear()
        self._cutter.reset()
        self._flowing = False
        self._hesitated = 0
        self._dry_for = None
        self.target = FIRST_FRAMES
        self._calm = 0
        self._look()

    def frame(self) -> Pcm | None:
        """See ``audio.io.pump.Source``."""
        self.silent_frames += 1
        if self._dry_for is not None:
            self._dry_for += 1
        if not self._flowing and not self._may_flow():
            return silence(FRAME_SAMPLES)
        self._leave_out()
        if not self._frames:
            self.gaps += self._flowing
            self._flowing = False
            self._dry_for = 0
            return silence(FRAME_SAMPLES)
        frame = self._frames.popleft()
        self._watch()
        return frame

    def close(self) -> None:
        """See ``audio.io.pump.Source``."""
        self.forget()

    def _may_flow(self) -> bool:
        self._hesitated = self._hesitated + 1 if self._frames else 0
        if len(self._frames) < self.target and self._hesitated <= self.target:
            return False
        self._flowing = bool(self._frames)
        self._hesitated = 0
        self._look()
        return self._flowing

    def _learn(self, late: int) -> None:
        """The stream goes on, ``late`` frames after it ran dry."""
        if late <= ENDED_FRAMES:
            self.target = min(MOST_TARGET_FRAMES, self.target + max(1, late))
            self._calm = 0

    def _look(self) -> None:
        self._left = LOOK_FRAMES
        self._least = MOST_FRAMES
        self._surplus = 0

    def _watch(self) -> None:
        self._least = min(self._least, len(self._frames))
        self._left -= 1
        if self._left > 0:
            return
        self._calm += 1
        if self._calm >= CALM_LOOKS:
            self._calm = 0
            self.target = max(LEAST_FRAMES, self.target - 1)
        surplus = self._least - (self.target - 1)
        self._look()
        self._surplus = max(0, surplus)

    def _leave_out(self) -> None:
        far_behind = len(self._frames) > self.target + EASY_FRAMES
        if not far_behind and (self._surplus == 0 or len(self._frames) <= 1):
            return
        if self._frames and _quiet(self._frames[0]):
            self._frames.popleft()
            self.skipped += 1
            self._surplus = max(0, self._surplus - 1)


def _quiet(frame: Pcm) -> bool:
    return int(np.abs(frame.astype(np.int32)).max()) < QUIET_PEAK
