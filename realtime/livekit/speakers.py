"""Several microphones become one: each runs on a clock of its own, and a policy says who is heard.

Every participant's sound goes through a jitter buffer. ``frame`` takes 10 ms of each at the same moment, so a device
whose clock is slow leaves a gap and one that is fast is caught up with in its pauses; neither delays the others, and
nothing waits longer than the buffers are deep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from audio.pcm import FRAME_MS, FRAME_SAMPLES, Pcm, rms, silence
from realtime.browser.jitter import JitterBuffer

Policy = Literal["mix", "loudest", "first", "identity"]
"""``mix`` adds everybody up. ``loudest`` hears one at a time: whoever is clearly louder takes the floor. ``first``
hears whoever began to speak until that person is silent. ``identity`` hears one participant alone."""

MOST_SPEAKERS = 32
"""Microphones beyond these are not heard."""

AUDIBLE = 0.003
"""Level (of full scale) from which a frame may be speech: about -50 dB."""

HOLD_MS = 600
"""Who has the floor keeps it for so long after the last audible frame."""

LOUDER = 2.0
"""How many times louder (6 dB) somebody has to be to take the floor."""

SMOOTHING = 0.2
"""Weight of a new frame in a speaker's level."""


@dataclass
class Speaker:
    """One microphone. ``level`` is smoothed, of full scale; ``silent_ms`` since it was audible."""

    identity: str
    buffer: JitterBuffer = field(default_factory=JitterBuffer)
    level: float = 0.0
    silent_ms: int = HOLD_MS
    pcm: Pcm = field(default_factory=lambda: silence(FRAME_SAMPLES))

    def advance(self) -> None:
        """10 ms pass."""
        frame = self.buffer.frame()
        self.pcm = silence(FRAME_SAMPLES) if frame is None else frame
        level = rms(self.pcm)
        self.level += SMOOTHING * (level - self.level)
        self.silent_ms = 0 if level >= AUDIBLE else self.silent_ms + FRAME_MS

    @property
    def holds(self) -> bool:
        """Whether it spoke a moment ago."""
        return self.silent_ms < HOLD_MS


class SpeakerMix:
    """See the module; a ``Source`` of ``audio.io.pump``.

    Args:
        policy: who is heard.
        identity: the only one who is heard, for the policy ``identity``.

    Attributes:
        floor: identity of whoever is heard or was heard last; empty where everybody is, or nobody was.
        on_floor: called with it when it changes.
        refused: microphones that were too many.

    Raises:
        ValueError: the policy ``identity`` without one.
    """

    def __init__(self, policy: Policy = "mix", identity: str = "") -> None:
        if policy == "identity" and not identity:
            raise ValueError("the policy identity needs one")
        self.policy: Policy = policy
        self.identity = identity
        self.floor = ""
        self.on_floor: Callable[[str], None] = lambda _: None
        self.refused = 0
        self._speakers: dict[str, Speaker] = {}

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """All microphones, the oldest first."""
        return tuple(self._speakers.values())

    @property
    def waiting(self) -> int:
        """Frames that have arrived and were not heard yet, of whoever has most."""
        return max((each.buffer.waiting for each in self.speakers), default=0)

    def wants(self, identity: str) -> bool:
        """Whether the policy could ever hear ``identity``."""
        return self.policy != "identity" or identity == self.identity

    def add(self, track: str, identity: str) -> bool:
        """A microphone is there; ``track`` names it. Returns whether it is taken."""
        if track not in self._speakers and len(self._speakers) >= MOST_SPEAKERS:
            self.refused += 1
            return False
        self._speakers[track] = Speaker(identity)
        return True

    def remove(self, track: str) -> None:
        """A microphone is gone; unknown ones are ignored."""
        self._speakers.pop(track, None)

    def push(self, track: str, pcm: Pcm) -> None:
        """Sound of a microphone, at 16 kHz; that of unknown ones is dropped."""
        if (speaker := self._speakers.get(track)) is not None:
            speaker.buffer.push(pcm)

    def forget(self, track: str) -> None:
        """Drop what has arrived of a microphone (it was muted)."""
        if (speaker := self._speakers.get(track)) is not None:
            speaker.buffer.forget()

    def frame(self) -> Pcm | None:
        """See ``audio.io.pump.Source``; never None."""
        for speaker in self.speakers:
            speaker.advance()
        if self.policy == "mix":
            return self._mixed()
        chosen = self._chosen()
        if chosen is None:
            return silence(FRAME_SAMPLES)
        if chosen.identity != self.floor:
            self.floor = chosen.identity
            self.on_floor(self.floor)
        return chosen.pcm

    def close(self) -> None:
        """See ``audio.io.pump.Source``."""
        self._speakers.clear()

    def _mixed(self) -> Pcm:
        sounding = [speaker for speaker in self.speakers if speaker.pcm.any()]
        if not sounding:
            return silence(FRAME_SAMPLES)
        loudest = max(sounding, key=lambda each: each.level)
        if loudest.holds and loudest.identity != self.floor:
            self.floor = loudest.identity
            self.on_floor(self.floor)
        total = np.sum([speaker.pcm.astype(np.int32) for speaker in sounding], axis=0)
        return np.clip(total, -32768, 32767).astype(np.int16)

    def _chosen(self) -> Speaker | None:
        if self.policy == "identity":
            return next((each for each in self.speakers if each.identity == self.identity), None)
        holder = next((each for each in self.speakers if each.identity == self.floor), None)
        others = [each for each in self.speakers if each is not holder and each.silent_ms == 0]
        rival = max(others, key=lambda each: each.level, default=None)
        if holder is None:
            return rival
        if rival is None:
            return holder
        if not holder.holds:
            return rival
        takes = self.policy == "loudest" and rival.level > LOUDER * holder.level
        return rival if takes else holder
