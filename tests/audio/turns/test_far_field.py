"""The next table and the user, by loudness; levels are RMS of full scale."""

import numpy as np

from audio.pcm import FRAME_SAMPLES, Pcm
from audio.turns.far_field import FarField


def voice(level: float, seconds: float = 1.0) -> list[Pcm]:
    frame = np.full(FRAME_SAMPLES, round(level * 32768), np.int16)
    return [frame] * round(seconds * 100)


def heard(near: FarField, level: float, at_s: float) -> bool:
    """Whether an utterance is a turn, and what follows from that."""
    for frame in voice(level):
        near.hear(frame)
    rejected = near.rejects(at_s)
    (near.rejected if rejected else near.accepted)(at_s)
    near.clear()
    return not rejected


def test_the_first_speaker_is_heard_however_quiet() -> None:
    assert heard(FarField(), 0.002, 0.0)


def test_the_caller_is_heard_and_the_next_table_is_not() -> None:
    near = FarField()
    assert heard(near, 0.08, 0.0)
    assert not heard(near, 0.012, 5.0)
    assert heard(near, 0.04, 10.0), "the caller at half the level"


def test_after_a_while_a_quieter_caller_is_heard_again() -> None:
    near = FarField()
    assert heard(near, 0.08, 0.0)
    assert not heard(near, 0.016, 1.0)
    assert heard(near, 0.016, 26.0)


def test_who_is_turned_away_three_times_becomes_the_reference() -> None:
    near = FarField()
    assert heard(near, 0.4, 0.0)
    assert [heard(near, 0.016, at_s) for at_s in (1.0, 2.0, 3.0, 4.0)] == [False, False, False, True]


def test_the_caller_in_between_resets_the_count() -> None:
    near = FarField()
    assert heard(near, 0.4, 0.0)
    levels = (0.016, 0.016, 0.3, 0.016, 0.016, 0.3)
    assert [heard(near, level, at_s) for at_s, level in enumerate(levels, 1)] == [False, False, True] * 2


def test_a_faint_reference_says_nothing_about_distance() -> None:
    near = FarField()
    assert heard(near, 0.009, 0.0)
    assert heard(near, 0.001, 1.0)


def test_ratio_zero_accepts_everybody() -> None:
    near = FarField(0.0)
    assert [heard(near, level, 0.0) for level in (0.5, 0.001)] == [True, True]


def test_a_click_makes_no_far_voice_near() -> None:
    near = FarField()
    assert heard(near, 0.08, 0.0)
    click = np.zeros(FRAME_SAMPLES, np.int16)
    click[:8] = 20_000
    near.hear(click)
    assert not heard(near, 0.012, 1.0)
