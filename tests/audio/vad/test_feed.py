"""Sound that never reaches the voice detector, in small and large pieces."""

import numpy as np
import pytest

from audio.vad.base import SpeechProb, VadAdapter, VadEvent
from audio.vad.feed import VadFeed


class Counting(VadAdapter):
    def __init__(self) -> None:
        self.resets = 0
        self.samples = 0

    @property
    def is_speaking(self) -> bool:
        return False

    def process(self, pcm: np.ndarray) -> list[VadEvent]:
        self.samples += pcm.size
        return [SpeechProb(self.samples, 0.5)]

    def reset(self) -> None:
        self.resets += 1


@pytest.mark.parametrize(("missing_s", "resets"), [(0.0, 0), (1.4, 0), (1.6, 1), (60.0, 1)])
def test_a_detector_is_reset_when_more_than_a_second_and_a_half_is_missing(missing_s: float, resets: int) -> None:
    gaps: list[None] = []
    vad = Counting()
    feed = VadFeed(vad, on_gap=lambda: gaps.append(None))
    frame, sample = np.zeros(160, np.int16), 0
    for number in range(300):
        sample += 160 + (round(missing_s * 16_000) if number == 100 else 0)
        (event,) = feed.feed(frame, sample)
        assert event.sample == sample
    assert (vad.resets, len(gaps)) == (resets, resets)


def test_a_stream_that_begins_late_is_no_gap() -> None:
    vad = Counting()
    VadFeed(vad).feed(np.zeros(160, np.int16), 1_000_000)
    assert vad.resets == 0
