"""Wake words by microWakeWord: small streaming networks that decide every 30 ms, at about one percent of a core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from agents.base.errors import GloveVoiceError
from audio.pcm import CAPTURE_RATE_HZ, FrameCutter, Pcm
from audio.wake.base import WakeDetector, WakeHeard

if TYPE_CHECKING:
    from pymicro_wakeword import MicroWakeWord

WakeWord = Literal["hey_jarvis", "okay_nabu", "alexa", "hey_mycroft"]
"""The networks that come with the package. All know English; ``okay_nabu`` also de, es, fr, it, nl and sv."""

REFRACTORY_S = 2.0
"""Time after a hit in which the same phrase is not heard again: its score stays high for a while."""

PLAYBACK_CUTOFF = 0.5
"""Score from which the appliance's own sound counts as the phrase: lower than for people, so that whatever might set
the microphone off is noticed here first."""


@dataclass
class _Word:
    model: MicroWakeWord
    cutoff: float
    deaf_until: int = 0


class MicroWakeDetector(WakeDetector):
    """Listens for one or more of the built-in phrases.

    Args:
        words: which ones.
        cutoff: score, 0…1, from which a phrase counts; each network's own (0.85…0.97) when None.
        refractory_s: see ``REFRACTORY_S``.

    Raises:
        GloveVoiceError: ``ERR_WAKE_MODEL`` when the package or its networks cannot be loaded on this machine.
    """

    def __init__(
        self,
        words: Sequence[WakeWord] = ("hey_jarvis",),
        *,
        cutoff: float | None = None,
        refractory_s: float = REFRACTORY_S,
    ) -> None:
        unknown = [word for word in words if word not in get_args(WakeWord)]
        if unknown or not words:
            known = ", ".join(get_args(WakeWord))
            raise GloveVoiceError(
                "ERR_WAKE_MODEL", f"No such wake word: {', '.join(unknown)}.", f"Choose from {known}."
            )
        self._names = tuple(words)
        self._refractory = round(refractory_s * CAPTURE_RATE_HZ)
        self._cutter = FrameCutter()
        self._fed = 0
        self._closed = False
        try:
            from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model

            self._features = MicroWakeWordFeatures()
            models = [MicroWakeWord.from_builtin(Model(word)) for word in words]
        except (ImportError, OSError, RuntimeError, ValueError) as fault:
            raise GloveVoiceError(
                "ERR_WAKE_MODEL",
                f"The wake word detector cannot be loaded: {fault}",
                "Run scripts/setup again, or choose push-to-talk instead of a wake word.",
                fault,
            ) from fault
        self._words = [_Word(model, model.probability_cutoff if cutoff is None else cutoff) for model in models]
        self.phrases = tuple(word.model.wake_word for word in self._words)

    def process(self, pcm: Pcm) -> list[WakeHeard]:
        """See ``WakeDetector``. Nothing after ``close``."""
        if self._closed:
            return []
        self._fed += pcm.size
        frames = self._cutter.push(pcm)
        end = self._fed - self._cutter.pending - self._cutter.size * len(frames)
        heard: list[WakeHeard] = []
        for frame in frames:
            end += frame.size
            for features in self._features.process_streaming(frame.tobytes()):
                heard += [hit for word in self._words if (hit := self._judge(word, features, end)) is not None]
        return heard

    def reset(self) -> None:
        """See ``WakeDetector``."""
        if self._closed:
            return
        self._cutter.reset()
        self._features.reset()
        for word in self._words:
            word.model.reset()

    def for_playback(self) -> WakeDetector:
        """See ``WakeDetector``."""
        return MicroWakeDetector(self._names, cutoff=PLAYBACK_CUTOFF, refractory_s=0.1)

    def close(self) -> None:
        """See ``WakeDetector``."""
        if not self._closed:
            self._closed = True
            for word in self._words:
                word.model.close()

    def _judge(self, word: _Word, features: Any, end: int) -> WakeHeard | None:
        score = word.model.process_streaming_prob(features)
        if score is None or score <= word.cutoff or end < word.deaf_until:
            return None
        word.deaf_until = end + self._refractory
        return WakeHeard(word.model.wake_word, end)
