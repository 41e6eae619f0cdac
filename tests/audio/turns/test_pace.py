import pytest

from audio.turns.pace import Pace


def test_who_pauses_long_is_waited_for_longer() -> None:
    pace = Pace()
    pace.paused(1700, 10.0)
    assert pace.estimate_ms(10.0) == pytest.approx(1000)
    assert pace.scaled(600, 10.0) == 857


def test_who_speaks_without_pauses_is_not_hurried() -> None:
    pace = Pace()
    for _ in range(9):
        pace.paused(100, 10.0)
    assert pace.scaled(600, 10.0) == 600


def test_certain_ends_are_answered_as_soon_for_everybody() -> None:
    pace = Pace()
    pace.paused(4900, 0.0)
    assert [pace.scaled(ms, 0.0) for ms in (0, 250, 500)] == [0, 250, 500]
    assert pace.scaled(501, 0.0) > 1000


def test_no_hold_grows_beyond_the_longest_or_threefold() -> None:
    pace = Pace()
    for _ in range(20):
        pace.paused(4900, 0.0)
    assert pace.scaled(600, 0.0) == 1800
    assert pace.scaled(2000, 0.0) == 2800
    assert pace.scaled(3000, 0.0) == 3000, "what is configured longer stays"


@pytest.mark.parametrize("pause_ms", [0.0, -5.0, 5000.0, 60_000.0])
def test_what_is_no_pause_within_a_turn_does_not_count(pause_ms: float) -> None:
    pace = Pace()
    pace.paused(pause_ms, 1.0)
    assert pace.estimate_ms(1.0) == 700


def test_a_slow_speaker_is_forgotten_in_minutes() -> None:
    pace = Pace()
    pace.paused(4700, 0.0)
    assert pace.estimate_ms(0.0) == pytest.approx(1900)
    assert pace.estimate_ms(120.0) == pytest.approx(700 + 1200 / 2.71828, rel=0.01)
    assert pace.estimate_ms(900.0) == pytest.approx(700, abs=1)
