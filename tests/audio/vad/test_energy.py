from __future__ import annotations

import numpy as np
import pytest

from audio.pcm import Pcm, silence
from audio.vad.base import SpeechEnd, SpeechProb, SpeechStart, VadEvent
from audio.vad.energy import EnergySettings, EnergyVad

FIXED = EnergySettings(adaptive=False)


def level(samples: int, rms: float) -> Pcm:
    """A square wave of exactly that level."""
    value = round(rms * 32768)
    return np.where(np.arange(samples) % 2, value, -value).astype(np.int16)


def feed(vad: EnergyVad, pcm: Pcm, chunk: int = 160) -> list[VadEvent]:
    return [event for i in range(0, pcm.size, chunk) for event in vad.process(pcm[i : i + chunk])]


def names(events: list[VadEvent]) -> list[str]:
    return [event.type for event in events if not isinstance(event, SpeechProb)]


@pytest.mark.parametrize("chunk", [128, 320, 800])
def test_speech_counts_from_96_ms_on_whatever_the_chunks(chunk: int) -> None:
    assert names(feed(EnergyVad(FIXED), level(95 * 16, 0.1), chunk)) == []
    assert names(feed(EnergyVad(FIXED), level(96 * 16, 0.1), chunk)) == ["speech_start"]


@pytest.mark.parametrize("chunk", [128, 320, 800])
def test_a_segment_ends_after_1200_ms_of_silence_whatever_the_chunks(chunk: int) -> None:
    vad = EnergyVad(FIXED)
    feed(vad, level(3200, 0.1), chunk)
    assert names(feed(vad, silence(1199 * 16), chunk)) == []
    assert vad.is_speaking
    assert names(feed(vad, silence(16), 16)) == ["speech_end"]
    assert not vad.is_speaking


def test_interrupted_bursts_do_not_add_up_to_speech() -> None:
    vad = EnergyVad(FIXED)
    for _ in range(20):
        assert names(feed(vad, level(90 * 16, 0.1)) + feed(vad, silence(160))) == []


def test_events_say_where_in_the_stream_they_happened() -> None:
    vad = EnergyVad(FIXED)
    events = feed(vad, np.concatenate((silence(1600), level(3200, 0.1), silence(20_000))))
    (start,) = [event for event in events if isinstance(event, SpeechStart)]
    (end,) = [event for event in events if isinstance(event, SpeechEnd)]
    assert start.sample == 1600 + 1600
    assert end.last_speech == 4800
    assert end.sample == 4800 + 19_200


def test_counts_in_chunks_win_over_times_when_given() -> None:
    vad = EnergyVad(EnergySettings(adaptive=False, speech_frames=3, silent_frames=2))
    assert names(feed(vad, level(2 * 128, 0.1), 128)) == []
    assert names(feed(vad, level(128, 0.1), 128)) == ["speech_start"]
    assert names(feed(vad, silence(128), 128)) == []
    assert names(feed(vad, silence(128), 128)) == ["speech_end"]


def test_a_long_chunk_counts_as_one_chunk() -> None:
    vad = EnergyVad(EnergySettings(adaptive=False, speech_frames=2))
    assert names(vad.process(level(1600, 0.1))) == []
    assert names(vad.process(level(1600, 0.1))) == ["speech_start"]


def test_probability_is_a_half_at_the_threshold_and_never_above_one() -> None:
    vad = EnergyVad(EnergySettings(threshold=1638 / 32768, adaptive=False))
    (at,) = vad.process(level(160, 1638 / 32768))
    assert isinstance(at, SpeechProb)
    assert at.probability == pytest.approx(0.5)
    (loud,) = vad.process(level(160, 0.9))
    assert isinstance(loud, SpeechProb)
    assert loud.probability == 1.0


def test_sound_exactly_at_the_threshold_is_no_speech() -> None:
    vad = EnergyVad(EnergySettings(threshold=1638 / 32768, adaptive=False))
    assert names(feed(vad, level(16_000, 1638 / 32768))) == []


def test_the_threshold_is_taken_before_the_floor_learns_from_the_same_sound() -> None:
    vad = EnergyVad()
    (first,) = vad.process(level(160, 0.05))
    assert isinstance(first, SpeechProb)
    assert first.probability == 1.0
    assert vad.current_threshold == pytest.approx(0.15, rel=0.01)


def test_noise_from_the_first_moment_on_is_not_speech() -> None:
    assert names(feed(EnergyVad(), level(16_000, 0.05))) == []


def test_the_floor_falls_faster_than_it_rises() -> None:
    vad = EnergyVad()
    feed(vad, level(16_000, 0.02))
    feed(vad, level(800, 0.005))
    assert vad.current_threshold < 0.03
    feed(vad, level(16_000, 0.005))
    assert vad.current_threshold == pytest.approx(0.015, rel=0.01)
    feed(vad, level(800, 0.012))
    assert 0.016 < vad.current_threshold < 0.019


def test_a_second_at_once_is_judged_like_the_same_second_in_pieces() -> None:
    said = np.concatenate((silence(4_000), level(2_400, 0.1), silence(9_600)))
    assert EnergyVad(FIXED).process(said) == feed(EnergyVad(FIXED), said, 160)


@pytest.mark.parametrize("chunk", [128, 480, 1600])
def test_lasting_noise_is_absorbed_in_about_15_seconds_whatever_the_chunks(chunk: int) -> None:
    vad = EnergyVad()
    feed(vad, level(16_000, 0.005), chunk)
    noise = level(16_000, 0.09)
    seconds = 0
    while vad.current_threshold <= 0.09:
        feed(vad, noise, chunk)
        seconds += 1
        assert seconds < 30
    assert 12 <= seconds <= 18


def test_the_threshold_never_exceeds_half_of_full_scale() -> None:
    vad = EnergyVad()
    feed(vad, level(16_000, 0.9))
    assert vad.current_threshold == 0.5


def test_a_reset_keeps_what_was_learned_about_the_room() -> None:
    vad = EnergyVad()
    feed(vad, level(16_000, 0.01))
    threshold = vad.current_threshold
    feed(vad, level(3200, 0.2))
    assert vad.is_speaking
    vad.reset()
    assert not vad.is_speaking
    assert vad.current_threshold == pytest.approx(threshold, rel=0.1)
    assert names(feed(vad, silence(32_000))) == []


def test_nothing_is_harmless() -> None:
    vad = EnergyVad()
    assert vad.process(silence(0)) == []
    feed(vad, level(160, 0.01))
    assert vad.process(silence(0)) == []
    assert np.isfinite(vad.current_threshold)


def test_digital_silence_from_the_start_does_not_make_the_detector_deaf_or_jumpy() -> None:
    vad = EnergyVad()
    assert names(feed(vad, silence(16_000))) == []
    assert names(feed(vad, level(3200, 0.1))) == ["speech_start"]


def test_it_announces_established_speech_only() -> None:
    assert not EnergyVad().supports_real_start
