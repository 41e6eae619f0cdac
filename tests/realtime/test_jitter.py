"""A microphone at the other end of a network."""

from __future__ import annotations

import numpy as np

from realtime.browser.jitter import MOST_FRAMES, TARGET_FRAMES, JitterBuffer


def sound(frames: int, start: int = 1000) -> np.ndarray:
    return np.repeat(np.arange(start, start + frames), 160).astype(np.int16)


def heard(buffer: JitterBuffer, ticks: int) -> list[int]:
    frames = [buffer.frame() for _ in range(ticks)]
    return [int(frame[0]) for frame in frames if frame is not None]


def test_silence_until_enough_has_arrived_and_then_no_gap() -> None:
    buffer = JitterBuffer()
    assert heard(buffer, 3) == [0, 0, 0]
    buffer.push(sound(2))
    assert heard(buffer, 1) == [0]
    buffer.push(sound(2, 1002))
    assert heard(buffer, 4) == [1000, 1001, 1002, 1003]


def test_uneven_arrival_is_evened_out() -> None:
    buffer, got, sent = JitterBuffer(), [], 0
    for tick in range(200):
        if tick % 4 == 0 or tick % 12 == 2:  # bunches of 20 to 40 ms
            count = min(4, tick + 2 - sent)
            buffer.push(sound(count, 1000 + sent))
            sent += count
        got += heard(buffer, 1)
    loud = [value for value in got if value]
    assert loud == list(range(1000, 1000 + len(loud)))
    assert 0 not in got[got.index(1000) :]


def test_the_last_frames_of_a_stream_are_heard_although_nothing_follows() -> None:
    buffer = JitterBuffer()
    buffer.push(sound(2))
    assert [value for value in heard(buffer, 2 * TARGET_FRAMES) if value] == [1000, 1001]
    assert buffer.waiting == 0


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
