"""Whether echo cancellation has proven itself since it was last disturbed.

A canceller learns the way from the speaker to the microphone, and learns it anew when reference and echo have moved
against each other: after a device was opened, or when a busy machine lost sound. How long that takes depends on the
room and on what is said, so it is not waited for but watched: half a second in a row in which the echo of loud sound
was taken away is proof (a faint one is soon gone, whatever is still to be learnt). Until then the appliance would take
its own voice for a user's.
"""

from __future__ import annotations

WINDOW_FRAMES = 10
"""Frames of 10 ms that are judged together."""
WINDOWS = 5
"""Good windows in a row that are proof."""
PROVEN = 16.0
"""By how many times the power of the echo must be weakened (12 dB)."""
ECHO_OVER_NOISE = 4.0
"""How many times the power of the noise a window must have to say anything (6 dB)."""
LOUD_POWER = 1e5
"""The least power of played sound that can prove anything (-40 dB below full scale)."""
INAUDIBLE_FRAMES = 100
"""Without any echo in the first second of sound there is none (headphones)."""
LONGEST_FRAMES = 250
"""After so much sound the ERLE itself is known and decides (somebody who speaks all the time delays the proof)."""


class CancellationProof:
    """Watches frames while the device sounds.

    Attributes:
        given: whether there is proof.
    """

    def __init__(self) -> None:
        self.given = False
        self.demand()

    def demand(self) -> None:
        """Something was disturbed: what was proven does not count any more."""
        self.given = False
        self._frames = 0
        self._echoes = 0
        self._good = 0
        self._begin()

    def add(self, before: float, after: float, noise: float, played: float) -> None:
        """One frame that may hold the echo of sound: its power before and after cancellation, that of the room's noise,
        and that of what was played meanwhile."""
        if self.given:
            return
        self._frames += 1
        self._before += before
        self._after += after
        self._played += played
        self._size += 1
        if self._size == WINDOW_FRAMES:
            self._judge(noise * WINDOW_FRAMES)
            self._begin()

    def _begin(self) -> None:
        self._size = 0
        self._before = 0.0
        self._after = 0.0
        self._played = 0.0

    def _judge(self, noise: float) -> None:
        if self._before >= ECHO_OVER_NOISE * noise:
            self._echoes += 1
            echo, rest = self._before - noise, max(self._after - noise, noise / 4)
            if echo < PROVEN * rest:
                self._good = 0
            elif self._played >= LOUD_POWER * WINDOW_FRAMES:
                self._good += 1
        inaudible = self._echoes == 0 and self._frames >= INAUDIBLE_FRAMES
        self.given = self._good >= WINDOWS or inaudible or self._frames >= LONGEST_FRAMES
