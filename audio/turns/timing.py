"""When what happened to an utterance, on the media clock: what a turn's latency is taken apart with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from audio.pcm import CAPTURE_RATE_HZ


@dataclass(frozen=True)
class UtteranceTimes:
    """Seconds on the media clock, to the frame; None for what did not happen.

    Attributes:
        onset_s: the voice detector first heard voice, or the talk key was pressed.
        confirmed_s: it had lasted long enough to count as speech.
        partial_s: first words were seen.
        dispatch_s: a silence made the recogniser begin with the final text, before it was known to be the end.
        vad_end_s: the silence was established, or the key released.
        final_s: the final text was there.
    """

    onset_s: float | None = None
    confirmed_s: float | None = None
    partial_s: float | None = None
    dispatch_s: float | None = None
    vad_end_s: float | None = None
    final_s: float | None = None


class UtteranceClock:
    """Notes the times of the utterance in progress; positions are samples at 16 kHz."""

    def __init__(self) -> None:
        self.times = UtteranceTimes()

    def began(self, sample: int) -> None:
        """Voice; only the first time counts, for an utterance that is resumed began when it began."""
        if self.times.onset_s is None:
            self.times = replace(self.times, onset_s=sample / CAPTURE_RATE_HZ)

    def confirmed(self, sample: int) -> None:
        """Speech; only the first time counts."""
        if self.times.confirmed_s is None:
            self.times = replace(self.times, confirmed_s=sample / CAPTURE_RATE_HZ)

    def worded(self, sample: int) -> None:
        """Words were seen; only the first time counts."""
        if self.times.partial_s is None:
            self.times = replace(self.times, partial_s=sample / CAPTURE_RATE_HZ)

    def dispatched(self, sample: int) -> None:
        """Recognition of the final text began; the last time counts."""
        self.times = replace(self.times, dispatch_s=sample / CAPTURE_RATE_HZ)

    def silent(self, sample: int) -> None:
        """The silence is established; the last time counts."""
        self.times = replace(self.times, vad_end_s=sample / CAPTURE_RATE_HZ, final_s=None)

    def recognised(self, sample: int) -> None:
        """The final text is there."""
        self.times = replace(self.times, final_s=sample / CAPTURE_RATE_HZ)

    def clear(self) -> None:
        """The utterance is over."""
        self.times = UtteranceTimes()
