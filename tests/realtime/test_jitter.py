"""A microphone at the other end of a network."""

from __future__ import annotations

import random

import numpy as np

from realtime.browser.jitter import (
    CALM_LOOKS,
    FIRST_FRAMES,
    LEAST_FRAMES,
    LOOK_FRAMES,
    MOST_FRAMES,
    MOST_TARGET_FRAMES,
    JitterBuffer,
)


def sound(frames: int, start: int = 1000) -> np.ndarray:
    return np.repeat(np.arange(start, start + frames), 160).astype(np.int16)


QUIET = np.zeros(160, np.int16)


def heard(buffer: JitterBuffer, ticks: int) -> list[int]:
    frames = [buffer.frame() for _ in range(ticks)]
    return [int(frame[0]) for frame in frames if frame is not None]


def bunches(buffer: JitterBuffer, frames: int, ticks: int) -> None:
    """Quiet frames that arrive ``frames`` at a time, for ``ticks`` times 10 ms."""
    for tick in range(ticks):
        if tick % frames == 0:
            buffer.push(np.tile(QUIET, frames))
        buffer.frame()


def test_silence_until_enough_has_arrived_and_then_no_gap() -> None:
    buffer = JitterBuffer()
    assert heard(buffer, 3) == [0, 0, 0]
    buffer.push(sound(FIRST_FRAMES - 1))
    assert heard(buffer, 1) == [0]
    buffer.push(sound(3, 1000 + FIRST_FRAMES - 1))
    assert heard(buffer, 4) == [1000, 1001, 1002, 1003]


def test_after_the_first_gaps_uneven_arrival_is_evened_out() -> None:
    buffer, chance = JitterBuffer(), random.Random(3)
    arrivals = sorted(tick + chance.randint(0, 5) for tick in range(1500))  # up to 50 ms late each
    sent, gaps = 0, []
    for tick in range(1500):
        while sent < len(arrivals) and arrivals[sent] <= tick:
            buffer.push(sound(1, 1000 + sent))
            sent += 1
        buffer.frame()
        gaps.append(buffer.gaps)
    assert gaps[-1] <= 4 and gaps[-1] == gaps[300]
    assert buffer.target <= 8


def test_what_is_late_is_waited_for_within_bounds() -> None:
    buffer = JitterBuffer()
    for late in (3, 20, 40):
        buffer.push(sound(30))
        heard(buffer, 40 + late)
    buffer.push(sound(1))
    assert buffer.target == MOST_TARGET_FRAMES


def test_a_microphone_that_was_closed_was_not_late() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(5))
    heard(buffer, 300)
    buffer.push(sound(5))
    assert buffer.target == FIRST_FRAMES


def test_delay_that_is_not_needed_any_more_is_given_back_where_nobody_speaks() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(10))  # 100 ms came at once
    for tick in range(LOOK_FRAMES + 50):
        buffer.push(sound(1, 1010 + tick))
        buffer.frame()
    assert buffer.skipped == 0 and buffer.waiting >= 9, "nothing that was said is left out"
    bunches(buffer, 1, LOOK_FRAMES * CALM_LOOKS * FIRST_FRAMES)
    assert buffer.target == LEAST_FRAMES
    assert buffer.waiting <= 1 and buffer.gaps == 0


def test_bunches_of_a_steady_stream_are_not_starved_by_saving() -> None:
    buffer = JitterBuffer()
    bunches(buffer, 4, 20_000)
    assert buffer.gaps <= 20, "200 s of bunches of 40 ms"


def test_the_last_frames_of_a_stream_are_heard_although_nothing_follows() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(1))
    assert [value for value in heard(buffer, 2 * FIRST_FRAMES) if value] == [1000]
    assert buffer.waiting == 0


def test_another_caller_begins_with_little_again() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(5))
    heard(buffer, 20)
    buffer.push(sound(1))
    assert buffer.target > FIRST_FRAMES
    buffer.forget()
    assert buffer.target == FIRST_FRAMES and buffer.waiting == 0


def test_a_burst_loses_its_oldest_sound_and_says_so() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(MOST_FRAMES + 30))
    assert buffer.dropped == 30
    assert heard(buffer, 1) == [1030]


def test_a_fast_sender_is_caught_up_with_in_the_pauses() -> None:
    buffer = JitterBuffer()
    buffer.push(np.concatenate([sound(20), np.zeros(160 * 40, np.int16), sound(5, 2000)]))
    got = heard(buffer, 60)
    assert [value for value in got if value >= 1000] == [*range(1000, 1020), *range(2000, 2005)]
    assert got.index(2000) < 50 and buffer.skipped > 0


def test_a_gap_is_counted_once() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(4))
    heard(buffer, 30)
    assert buffer.gaps == 1
