"""What keeps the time of a room's microphones: 10 ms of all of them together, a hundred times a second."""

from __future__ import annotations

from agents.base import clock
from audio.io.base import OnFrame
from audio.pcm import FRAME_MS, FRAME_SAMPLES, silence
from realtime.livekit.speakers import SpeakerMix

TICK_S = FRAME_MS / 1000

MOST_BEHIND_S = 0.5
"""After the loop stood still for longer, time that has passed is left out."""


class MixPump:
    """Takes frames from a mix, in real time.

    Attributes:
        ticks: frames so far.
    """

    def __init__(self, mix: SpeakerMix) -> None:
        self.ticks = 0
        self._mix = mix

    @property
    def time_s(self) -> float:
        """Seconds of sound so far."""
        return self.ticks * TICK_S

    async def run(self, on_frame: OnFrame) -> None:
        """Hand frames over, until cancelled."""
        due = clock.now()
        while True:
            self.ticks += 1
            frame = self._mix.frame()
            on_frame(silence(FRAME_SAMPLES) if frame is None else frame, self.ticks * FRAME_SAMPLES)
            due += TICK_S
            if clock.now() - due > MOST_BEHIND_S:
                due = clock.now()
            await clock.sleep_until(due)
