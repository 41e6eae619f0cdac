"""However sound is delivered, detectors find the same in it, to the sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.pcm import Pcm, silence
from audio.vad.base import SpeechProb, VadAdapter, VadEvent
from audio.vad.energy import EnergyVad
from audio.vad.silero import SileroVad
from tests.audio.babble import babble, noise

SOUND = np.concatenate((noise(0.5, 0.002), babble(0.8), silence(4000), babble(0.05), silence(24_000)))
MAKE: dict[str, Callable[[], VadAdapter]] = {"energy": EnergyVad, "silero": SileroVad}


def found(vad: VadAdapter, chunks: list[Pcm]) -> list[VadEvent]:
    events = [event for chunk in chunks for event in vad.process(chunk)]
    return [event for event in events if not isinstance(event, SpeechProb)]


def cut(sizes: list[int]) -> list[Pcm]:
    chunks, at = list[Pcm](), 0
    while at < SOUND.size:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(SOUND[at : at + size])
        at += size
    return chunks


@pytest.mark.parametrize("kind", MAKE)
@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.sampled_from([1, 37, 128, 160, 320, 512, 700, 800, 4096, 48_000]), min_size=1, max_size=6))
def test_chunks_of_any_size_give_the_same_segments(kind: str, sizes: list[int]) -> None:
    whole, pieces = found(MAKE[kind](), cut([160])), found(MAKE[kind](), cut(sizes))
    assert [event.type for event in pieces] == [event.type for event in whole]
    assert len(whole) >= 2
    # The energy detector judges stretches of at most 10 ms, which begin where a chunk begins.
    assert max(abs(a.sample - b.sample) for a, b in zip(whole, pieces, strict=True)) <= (0 if kind == "silero" else 640)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([1, 7, 160, 512, 1600]), min_size=1, max_size=40))
def test_a_reset_in_mid_segment_tells_nothing_whatever_was_fed_before(sizes: list[int]) -> None:
    vad = SileroVad()
    for size in sizes:
        vad.process(babble(0.1)[:size])
    vad.reset()
    assert not vad.is_speaking
    assert found(vad, [silence(512)] * 40) == []
