"""Whether there is more in a frame than the device's own voice.

A canceller has to learn the way from the speaker to the microphone: after a device was opened, after a slip, in a room
that has changed. How well it does so is not waited for but watched, and what it leaves is judged frame by frame while
the device sounds. A frame is heard when

* it is as quiet as the room: nothing is left of the echo, or
* it is louder than any echo can be: the echo's usual level is known, and a slip does not change it, or
* much less than usual was taken away: echo shrinks, a voice that was not played does not. A canceller that still learns
  now and then lets some syllables through, so for that it must have worked for a while.

What is none of that is echo as far as anybody can tell, and is not heard. So somebody who speaks up is heard at any
moment, and somebody who speaks softly once cancellation has proven itself.
"""

from __future__ import annotations

from collections import deque

WINDOW_FRAMES = 10
"""Frames of 10 ms that are measured together."""
FEWEST = 3
"""Windows with echo before anything is known."""
ERLE_WINDOWS = 30
"""How many of the latest tell what is usually taken away, and must be there before that counts: three seconds."""
PATH_WINDOWS = 100
"""The same for how loud the echo is."""
ECHO_OVER_NOISE = 4.0
"""How many times the power of the noise a window must have to say anything of echo (6 dB)."""
LOUD_POWER = 1e5
"""The least power of played sound that can say anything (-40 dB below full scale)."""
ROOM_MARGIN = 2.0
"""Up to so many times the power of the noise (3 dB) a frame is as quiet as the room."""
ECHO_MARGIN = 4.0
"""So many times the usual power of echo (6 dB) no echo has."""
ERLE_MARGIN = 10.0
"""By so much (10 dB) less than usual is taken away from a frame in which somebody speaks."""
USEFUL_ERLE = 16.0
"""Where usually less than 12 dB are taken away, the echo that is left may pass for a voice whatever one compares."""
REACH_FRAMES = 40
"""An echo comes up to 400 ms after what made it."""
SHORT_FRAMES = 3
"""A frame is judged with the two before it."""
HANG_FRAMES = 20
"""A voice is heard on for 200 ms."""
INAUDIBLE_FRAMES = 100
"""Without any echo in the first second of sound there is none (headphones)."""
LONGEST_FRAMES = 250
"""After so much sound the ERLE itself is known (somebody may have spoken all the time)."""


class EchoEvidence:
    """Judges frames while the device sounds.

    Attributes:
        window_erle: by how many times the echo was weakened in the window that the latest frame completed; None where
            it completed none, or one without echo.
        drowned: whether somebody speaks over the echo of the latest frame while cancellation still learns. It takes
            much of a voice for echo then, so the frame is better heard as the microphone gave it.
    """

    def __init__(self) -> None:
        self._path: deque[float] = deque(maxlen=PATH_WINDOWS)
        self._played: deque[float] = deque(maxlen=REACH_FRAMES)
        self.reset()

    def reset(self) -> None:
        """Devices have changed: nothing is known."""
        self._path.clear()
        self._inaudible = False
        self.disturbed()

    def disturbed(self) -> None:
        """Cancellation learns anew; the echo is as loud as before."""
        self._erle: deque[float] = deque(maxlen=ERLE_WINDOWS)
        self._short: deque[tuple[float, float]] = deque(maxlen=SHORT_FRAMES)
        self._frames = self._hang = 0
        self.drowned = False
        self._begin()

    @property
    def usual_erle(self) -> float:
        """By how many times the power of echo is weakened at least; 1 while that is not known. A tenth of the windows
        may be worse: somebody may have spoken."""
        return 1.0 if self._learns else _at(self._erle, 0.1)

    def add(self, before: float, after: float, noise: float, played: float) -> bool:
        """One frame: its power before and after cancellation, that of the room's noise, and that of what was played
        meanwhile. Returns whether it shall be heard."""
        self._played.append(played)
        self._short.append((before, after))
        self._measure(before, after, noise)
        voice = self._is_voice(noise)
        self._hang = HANG_FRAMES if voice else max(0, self._hang - 1)
        return voice or self._hang > 0 or after <= ROOM_MARGIN * noise or self._inaudible

    @property
    def undecided(self) -> bool:
        """Whether it takes so long to learn what is usual that the ERLE measured over seconds is the better judge."""
        return self._frames >= LONGEST_FRAMES and self.usual_erle < USEFUL_ERLE

    def _is_voice(self, noise: float) -> bool:
        before = sum(pair[0] for pair in self._short) / len(self._short)
        after = sum(pair[1] for pair in self._short) / len(self._short)
        self.drowned = self._learns and self._exceeds_echo(before, 0.95)
        if not self.drowned and after <= ECHO_OVER_NOISE * noise:
            return False
        if self.drowned or self._exceeds_echo(after, 0.5):
            return True
        usual = self.usual_erle
        return usual >= USEFUL_ERLE and before * ERLE_MARGIN < usual * after

    @property
    def _learns(self) -> bool:
        return len(self._erle) < ERLE_WINDOWS

    def _exceeds_echo(self, level: float, quantile: float) -> bool:
        known = len(self._path) >= FEWEST
        return known and level > ECHO_MARGIN * _at(self._path, quantile) * max(self._played)

    def _begin(self) -> None:
        self._size = 0
        self._before = self._after = 0.0
        self.window_erle: float | None = None

    def _measure(self, before: float, after: float, noise: float) -> None:
        self.window_erle = None
        self._frames += 1
        self._size += 1
        self._before += before / WINDOW_FRAMES
        self._after += after / WINDOW_FRAMES
        if self._size < WINDOW_FRAMES:
            return
        loudest, erle = max(self._played), None
        if self._before >= ECHO_OVER_NOISE * noise and loudest >= LOUD_POWER:
            echo, rest = self._before - noise, max(self._after - noise, noise / 4)
            erle = echo / rest
            self._erle.append(erle)
            self._path.append(echo / loudest)
            self._inaudible = False
        elif not self._path and self._frames >= INAUDIBLE_FRAMES:
            self._inaudible = True
        self._begin()
        self.window_erle = erle


def _at(values: deque[float], quantile: float) -> float:
    return sorted(values)[int(quantile * len(values))]
