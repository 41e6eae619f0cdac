"""A wake word detector with a script: the test double."""

from __future__ import annotations

from collections.abc import Callable

from audio.pcm import FrameCutter, Pcm
from audio.wake.base import WakeDetector, WakeHeard


class ScriptedWakeDetector(WakeDetector):
    """Hears its phrase where a run of frames (10 ms) that ``matches`` has ended.

    Args:
        matches: whether a frame belongs to the phrase.
        phrase: what is reported.
        playback: whether ``for_playback`` gives a detector of the same kind.

    ``fed`` counts samples, ``resets`` resets; ``closed`` tells whether it was closed.
    """

    def __init__(self, matches: Callable[[Pcm], bool], phrase: str = "Hey Jarvis", *, playback: bool = True) -> None:
        self.phrases = (phrase,)
        self._matches = matches
        self._playback = playback
        self._cutter = FrameCutter()
        self._inside = False
        self.fed = 0
        self.resets = 0
        self.closed = False

    def process(self, pcm: Pcm) -> list[WakeHeard]:
        """See ``WakeDetector``."""
        self.fed += pcm.size
        frames = self._cutter.push(pcm)
        end = self.fed - self._cutter.pending - self._cutter.size * len(frames)
        heard: list[WakeHeard] = []
        for frame in frames:
            end += frame.size
            inside = self._matches(frame)
            if self._inside and not inside:
                heard.append(WakeHeard(self.phrases[0], end))
            self._inside = inside
        return heard

    def reset(self) -> None:
        """See ``WakeDetector``."""
        self.resets += 1
        self._inside = False
        self._cutter.reset()

    def for_playback(self) -> WakeDetector | None:
        """See ``WakeDetector``."""
        return ScriptedWakeDetector(self._matches, self.phrases[0]) if self._playback else None

    def close(self) -> None:
        """See ``WakeDetector``."""
        self.closed = True
