from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.dsp.reference import CUSHION, PILE, Reference
from audio.pcm import Pcm

SIZE = 480


def frame(number: int) -> Pcm:
    return np.full(SIZE, number, np.int16)


def test_one_frame_goes_with_each_frame_of_the_microphone_and_in_order() -> None:
    reference = Reference(48_000)
    taken: list[int] = []
    for number in range(300):
        reference.played(frame(number))
        taken += [int(part[0]) for part in reference.take()]
    assert taken == list(range(300 - CUSHION))


def test_a_sink_that_is_late_delays_the_reference_and_loses_none_of_it() -> None:
    reference = Reference(48_000)
    taken: list[int] = []
    number = 0
    for tick in range(200):
        late = 50 <= tick < 55
        if not late:
            reference.played(frame(number))
            number += 1
        if tick == 55:
            for _ in range(5):
                reference.played(frame(number))
                number += 1
        taken += [int(part[0]) for part in reference.take()]
    assert taken == list(range(len(taken)))
    assert reference.late == 5 - CUSHION
    assert reference.slips == 1, "they moved against each other once, by that much"
    assert len(taken) >= 200 - 5 - CUSHION


def test_a_front_end_that_was_kept_waiting_finds_both_sides_in_step() -> None:
    reference = Reference(48_000)
    for number in range(50):
        reference.played(frame(number))
        reference.take()
    for number in range(50, 90):
        reference.played(frame(number))
    counts = [len(reference.take(waiting=39 - i)) for i in range(40)]
    assert counts == [1] * 40


def test_clocks_that_drift_apart_are_brought_together_without_loss() -> None:
    reference = Reference(48_000)
    taken: list[int] = []
    number = 0
    for tick in range(5000):
        reference.played(frame(number))
        number += 1
        if tick % 500 == 0:  # the sink is two thousandths faster
            reference.played(frame(number))
            number += 1
        taken += [int(part[0]) for part in reference.take()]
    assert taken == list(range(len(taken)))
    assert number - len(taken) <= PILE + 2
    assert reference.lost == 0


def test_what_got_out_of_step_in_silence_is_in_step_again_before_anything_sounds() -> None:
    reference = Reference(48_000)
    sound, quiet = [frame(number) for number in range(1, 101)], frame(0)
    delays: list[set[int]] = [set(), set()]
    for tick, pcm in enumerate([*sound, *[quiet] * 200, *sound]):
        stalled = 150 <= tick < 156
        for _ in range(0 if stalled else 7 if tick == 156 else 1):
            reference.played(pcm)
        for part in reference.take():
            if part.any():
                delays[tick >= 300].add(tick % 300 - int(part[0]))
    assert reference.late > 0
    assert len(delays[0]) == 1 and delays[1] == delays[0]
    assert reference.slips == 0


def test_clocks_that_drift_apart_in_silence_do_not_pile_it_up() -> None:
    reference, quiet = Reference(48_000), frame(0)
    for tick in range(20_000):
        reference.played(quiet)
        if tick % 100 == 0:
            reference.played(quiet)
        reference.take()
    assert reference.lost == 0 and reference.pending <= (PILE + 2) * SIZE


def test_what_a_sink_asks_for_at_once_when_it_begins_stays_ahead_without_a_slip() -> None:
    reference = Reference(48_000)
    for number in range(PILE):
        reference.played(frame(number))
    for number in range(PILE, 1000):
        reference.played(frame(number))
        assert len(reference.take()) == 1
    assert reference.slips == 0


def test_a_sink_that_was_opened_anew_begins_with_a_cushion_again() -> None:
    reference = Reference(48_000)
    for number in range(10):
        reference.played(frame(number))
    reference.take()
    reference.restart()
    reference.played(frame(100))
    assert reference.take() == []
    for number in range(101, 104):
        reference.played(frame(number))
    assert [int(part[0]) for part in reference.take()] == [100]
    assert reference.lost == 0


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=60))
def test_blocks_of_any_size_become_frames_of_ten_milliseconds(sizes: list[int]) -> None:
    reference = Reference(48_000)
    total = sum(sizes)
    stream = (np.arange(total) % 30_000).astype(np.int16)
    at = 0
    taken: list[Pcm] = []
    for size in sizes:
        reference.played(stream[at : at + size])
        at += size
        taken += reference.take()
    assert all(part.size == SIZE for part in taken)
    joined = np.concatenate(taken) if taken else np.zeros(0, np.int16)
    assert joined.tolist() == stream[: joined.size].tolist()
    assert joined.size + reference.pending == total
