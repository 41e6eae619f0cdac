"""A voice detector that may rest hears everything that it would have heard."""

from __future__ import annotations

import numpy as np
import pytest

from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm
from audio.vad.base import SpeechEnd, SpeechProb, VadAdapter, VadEvent
from audio.vad.feed import STALLED_S, VadFeed
from audio.vad.resting import RestingVad
from audio.vad.silero import SileroVad
from tests.support.session import LevelVad
from tests.support.speech import spoken


def hum(seconds: float) -> Pcm:
    return np.random.default_rng(1).normal(0, 30, round(seconds * CAPTURE_RATE_HZ)).astype(np.int16)


def scene() -> Pcm:
    """A quiet room, somebody who says something, a quiet room, and again."""
    speech = (spoken(3.0) * 0.3).astype(np.int16)
    return np.concatenate((hum(5.0), speech, hum(6.0), speech, hum(4.0)))


def events(vad: VadAdapter, sound: Pcm) -> list[VadEvent]:
    frames = [sound[at : at + FRAME_SAMPLES] for at in range(0, sound.size - FRAME_SAMPLES + 1, FRAME_SAMPLES)]
    return [event for frame in frames for event in vad.process(frame) if not isinstance(event, SpeechProb)]


def test_the_same_speech_is_found_at_the_same_time() -> None:
    resting = RestingVad(SileroVad())
    resting.set_resting(True)
    found, wanted = events(resting, scene()), events(SileroVad(), scene())
    assert [event.type for event in found] == [event.type for event in wanted] and len(wanted) >= 6
    for event, other in zip(found, wanted, strict=True):
        assert event.sample == pytest.approx(other.sample, abs=0.1 * CAPTURE_RATE_HZ)
        if isinstance(event, SpeechEnd) and isinstance(other, SpeechEnd):
            assert event.last_speech == pytest.approx(other.last_speech, abs=0.1 * CAPTURE_RATE_HZ)


def test_no_network_runs_in_a_quiet_room_once_nobody_listens() -> None:
    inner = LevelVad()
    vad = RestingVad(inner)
    events(vad, hum(3.2))
    assert inner.samples == 3.2 * CAPTURE_RATE_HZ, "somebody listens"
    vad.set_resting(True)
    events(vad, hum(10.0))
    rested = inner.samples
    assert rested < 4.4 * CAPTURE_RATE_HZ, "the room was listened to for a second"
    vad.set_resting(False)
    events(vad, hum(0.01))
    assert inner.samples >= rested + 0.38 * CAPTURE_RATE_HZ, "it wakes up with what came just before"


def test_a_resting_detector_is_not_taken_for_dead() -> None:
    stalled: list[bool] = []
    vad = RestingVad(LevelVad())
    vad.set_resting(True)
    feed, sound = VadFeed(vad, lambda: stalled.append(True)), hum(5 * STALLED_S)
    for end in range(FRAME_SAMPLES, sound.size, FRAME_SAMPLES):
        feed.feed(sound[end - FRAME_SAMPLES : end], end)
    assert vad.rests and not stalled


def test_it_does_not_rest_in_the_middle_of_speech() -> None:
    inner = LevelVad()
    vad = RestingVad(inner)
    vad.set_resting(True)
    events(vad, hum(2.0))
    events(vad, np.full(3 * CAPTURE_RATE_HZ, 4000, np.int16))
    before = inner.samples
    assert vad.is_speaking
    events(vad, np.full(12 * CAPTURE_RATE_HZ, 4000, np.int16))  # so steady that it is the room's floor by now
    assert inner.samples == before + 12 * CAPTURE_RATE_HZ
