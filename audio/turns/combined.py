"""Text and sound together: the sound of a finished turn shortens the wait, that of an unfinished one lengthens it.

Neither witness decides alone. A recogniser writes "I would like to see." behind half a sentence; a listener by ear
takes the end of a clause for the end of a turn. What both call finished is answered soonest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from audio.pcm import Pcm
from audio.turns.hold import Hold, TurnDetector, Utterance
from audio.turns.sound import SoundScorer, listen, score


@dataclass(frozen=True)
class CombinedTimes:
    """When the sound changes the hold of the text, and to what.

    Attributes:
        sure: probability from which the voice has finished. Of pauses within a sentence, one in three sounds so.
        doubtful: probability below which it has not.
        sure_ms: hold where text and voice have finished. Speech in the next frame of the voice detector (32 ms) still
            ends it. It is shorter than it takes to confirm speech that goes on, so that an answer comes 0.7 s after
            the last word; words that follow before the answer is heard continue it.
        unmarked_ms: hold where the voice has finished and the text bears no mark either way.
        doubtful_ms: least hold where the text has finished and the voice has not.
    """

    sure: float = 0.9
    doubtful: float = 0.2
    sure_ms: int = 45
    unmarked_ms: int = 600
    doubtful_ms: int = 900


_DECIDED = ("empty", "command", "dictation")
_UNFINISHED = "unfinished"
_UNMARKED = "unpunctuated"


class CombinedDetector:
    """Judges by text, then lets the sound correct the hold.

    The reason is that of the text with the probability of the sound behind it: ``statement/0.97``.

    Args:
        text: judges the words.
        ear: judges the sound; shared between sessions, not closed here.
        times: see ``CombinedTimes``.
    """

    def __init__(self, text: TurnDetector, ear: SoundScorer, times: CombinedTimes | None = None) -> None:
        self._text = text
        self._ear = ear
        self._times = times or CombinedTimes()

    async def judge(self, utterance: Utterance) -> Hold:
        """See ``TurnDetector``."""
        hold, probability = await asyncio.gather(self._text.judge(utterance), listen(self._ear, utterance))
        if probability is None or hold.reason.endswith(_DECIDED):
            return hold
        return Hold(self._corrected(hold, probability), f"{hold.reason}/{probability:.2f}")

    async def hear(self, sound: Pcm) -> float | None:
        """See ``HearsEnds``."""
        return await score(self._ear, sound)

    def _corrected(self, hold: Hold, probability: float) -> int:
        times = self._times
        if hold.reason.endswith(_UNFINISHED):
            return hold.ms
        if probability >= times.sure:
            return min(hold.ms, times.unmarked_ms if hold.reason.endswith(_UNMARKED) else times.sure_ms)
        return max(hold.ms, times.doubtful_ms) if probability < times.doubtful else hold.ms
