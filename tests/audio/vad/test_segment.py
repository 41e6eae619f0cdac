from __future__ import annotations

import pytest

from audio.vad.base import SpeechEnd, SpeechProb, VadEvent
from audio.vad.segment import SegmentMachine, SegmentSettings, SegmentState

FRAME = 512
HEADSET = SegmentSettings(positive=0.5, negative=0.35)
MIN, REDEMPTION = 8, 14


def run(machine: SegmentMachine, probabilities: list[float]) -> list[str]:
    """The names of what happened, without the probabilities themselves."""
    return [event.type for event in events(machine, probabilities) if not isinstance(event, SpeechProb)]


def events(machine: SegmentMachine, probabilities: list[float]) -> list[VadEvent]:
    return [event for i, p in enumerate(probabilities) for event in machine.feed(p, (i + 1) * FRAME)]


def test_speech_and_silence_give_start_confirmation_and_end_once_each() -> None:
    machine = SegmentMachine(HEADSET)
    assert run(machine, [0.9] * 20 + [0.1] * 30) == ["speech_start", "speech_real_start", "speech_end"]
    assert not machine.is_speaking


def test_a_click_is_taken_back_and_never_ends_as_speech() -> None:
    assert run(SegmentMachine(HEADSET), [0.9] * 2 + [0.1] * 20) == ["speech_start", "vad_misfire"]


def test_every_frame_reports_its_probability_first() -> None:
    first, second = SegmentMachine(HEADSET).feed(0.9, FRAME)
    assert first == SpeechProb(FRAME, 0.9)
    assert second.type == "speech_start"


def test_a_segment_ends_exactly_when_the_redemption_time_is_over() -> None:
    machine = SegmentMachine(HEADSET)
    run(machine, [0.9] * MIN)
    assert run(machine, [0.1] * (REDEMPTION - 1)) == []
    assert run(machine, [0.1]) == ["speech_end"]


def test_the_end_tells_where_speech_was_last_heard() -> None:
    happened = events(SegmentMachine(HEADSET), [0.9] * 10 + [0.4] * 3 + [0.1] * REDEMPTION)
    (end,) = [event for event in happened if isinstance(event, SpeechEnd)]
    assert end.last_speech == 10 * FRAME
    assert end.sample == (10 + 3 + REDEMPTION) * FRAME


def test_values_between_the_thresholds_change_nothing() -> None:
    machine = SegmentMachine(HEADSET)
    run(machine, [0.9] * 3)
    assert run(machine, [0.4] * 500) == []
    assert machine.state is SegmentState.TENTATIVE
    assert run(machine, [0.9] * 5) == ["speech_real_start"]


def test_nothing_begins_between_the_thresholds() -> None:
    assert run(SegmentMachine(HEADSET), [0.49, 0.36] * 100) == []


def test_silence_counts_on_through_the_band_but_starts_again_after_speech() -> None:
    machine = SegmentMachine(HEADSET)
    run(machine, [0.9] * MIN)
    assert run(machine, [0.1] * 13 + [0.4] * 5 + [0.9] + [0.1] * 13) == []
    assert run(machine, [0.4] * 5 + [0.1]) == ["speech_end"]


def test_confirmation_needs_the_minimum_of_frames_but_not_in_a_row() -> None:
    machine = SegmentMachine(HEADSET)
    assert run(machine, [0.9, 0.4, 0.1] * (MIN - 1)) == ["speech_start"]
    assert run(machine, [0.9]) == ["speech_real_start"]
    assert run(machine, [0.9] * 50) == []


def test_frames_of_an_earlier_misfire_do_not_confirm_a_later_start() -> None:
    machine = SegmentMachine(HEADSET)
    run(machine, [0.9] * (MIN - 1) + [0.1] * REDEMPTION)
    assert run(machine, [0.9]) == ["speech_start"]


def test_a_short_minimum_starts_and_confirms_in_one_frame() -> None:
    machine = SegmentMachine(SegmentSettings(0.5, 0.35, redemption_ms=0, min_speech_ms=0))
    assert run(machine, [0.9, 0.1]) == ["speech_start", "speech_real_start", "speech_end"]


def test_while_the_agent_speaks_a_weak_voice_begins_a_segment() -> None:
    machine = SegmentMachine(HEADSET)
    assert run(machine, [0.31] * 5) == []
    machine.set_ducked(True)
    assert run(machine, [0.31]) == ["speech_start"]


def test_a_weak_voice_is_confirmed_after_three_times_the_minimum() -> None:
    machine = SegmentMachine(HEADSET)
    machine.set_ducked(True)
    assert run(machine, [0.35] * (3 * MIN - 1)) == ["speech_start"]
    assert run(machine, [0.35]) == ["speech_real_start"]


def test_a_clear_voice_is_confirmed_after_the_minimum_while_the_agent_speaks() -> None:
    machine = SegmentMachine(HEADSET)
    machine.set_ducked(True)
    assert run(machine, [0.9] * MIN) == ["speech_start", "speech_real_start"]


def test_a_blip_does_not_coast_to_confirmation_above_the_lowered_bar() -> None:
    machine = SegmentMachine(HEADSET)
    machine.set_ducked(True)
    assert run(machine, [0.9] * 3 + [0.32] * 15 + [0.1] * REDEMPTION) == ["speech_start", "vad_misfire"]


def test_ducking_never_raises_a_low_threshold() -> None:
    machine = SegmentMachine(SegmentSettings(positive=0.2, negative=0.1))
    machine.set_ducked(True)
    assert (machine.positive, machine.negative) == (0.2, 0.1)


def test_the_room_defaults_are_biased_to_hear() -> None:
    machine = SegmentMachine()
    assert (machine.positive, machine.negative) == (0.35, 0.25)


def test_a_reset_says_nothing_and_forgets_the_segment() -> None:
    machine = SegmentMachine(HEADSET)
    run(machine, [0.9] * (MIN - 1))
    machine.reset()
    assert not machine.is_speaking
    assert run(machine, [0.1] * 50) == []
    assert run(machine, [0.9]) == ["speech_start"]


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        SegmentSettings(positive=0.3, negative=0.5)
