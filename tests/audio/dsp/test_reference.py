from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.dsp.reference import BURST, CUSHION, PATIENCE, Reference
from audio.pcm import Pcm

SIZE = 480


def frame(number: int) -> Pcm:
    return np.full(SIZE, number, np.int16)


class Timeline:
    """Ticks of the microphone; at each the sink writes as many frames as it is told, and one is taken."""

    def __init__(self) -> None:
        self.reference = Reference(48_000)
        self.written = 0
        self.delays: list[int] = []
        """At each tick at which something was given, by how many ticks the last frame of it was older than that."""
        self.taken: list[int] = []
        self.counts: list[int] = []

    def tick(self, writes: int = 1, waiting: int = 0) -> None:
        for _ in range(writes):
            self.written += 1
            self.reference.played(frame(self.written))
        out = [int(part[0]) for part in self.reference.take(waiting)]
        self.counts.append(len(out))
        self.taken += out
        if out:
            self.delays.append(len(self.counts) - out[-1])


def test_one_frame_goes_with_each_frame_of_the_microphone_and_in_order() -> None:
    line = Timeline()
    for _ in range(300):
        line.tick()
    assert line.taken == list(range(1, 301 - CUSHION))


def test_a_reference_that_comes_late_is_given_back_at_once_so_that_it_stays_in_step() -> None:
    line = Timeline()
    for tick in range(300):
        line.tick(0 if 50 <= tick < 57 else 8 if tick == 57 else 1)
    assert line.taken == list(range(1, len(line.taken) + 1)), "nothing is lost and nothing is out of order"
    assert line.counts[52:57] == [0] * 5 and line.counts[57] == 1 + 5
    assert set(line.delays) == {CUSHION}
    assert line.reference.late == 7 - CUSHION
    assert line.reference.slips == 0, "nobody has moved"


def test_a_sink_that_catches_up_little_by_little_is_followed() -> None:
    line = Timeline()
    for tick in range(300):
        line.tick(0 if 50 <= tick < 56 else 2 if 56 <= tick < 62 else 1)
    assert line.delays[-1] == CUSHION
    assert line.reference.slips == 0


def test_a_sink_that_stood_still_is_followed_and_that_is_a_slip() -> None:
    """Its buffer of 40 ms ran dry for 60 ms more, and is filled again: the echo, too, comes 60 ms later."""
    line = Timeline()
    for tick in range(300):
        line.tick(0 if 50 <= tick < 60 else 5 if tick == 60 else 1)
    assert line.delays[-1] == CUSHION + 6
    assert line.reference.slips == 1
    assert line.counts[60 + PATIENCE + 1 :] == [1] * (300 - 61 - PATIENCE)


def test_a_front_end_that_was_kept_waiting_finds_both_sides_in_step() -> None:
    line = Timeline()
    for _ in range(50):
        line.tick()
    line.tick(40, waiting=39)
    for i in range(39):
        line.tick(0, waiting=38 - i)
    assert line.counts[50:] == [1] * 40


def test_where_the_microphone_has_lost_sound_the_reference_follows_within_a_moment() -> None:
    line = Timeline()
    for _ in range(250):
        line.tick()
    line.tick(5)  # four frames of the microphone never came
    line.reference.capture_gap()
    for _ in range(30):
        line.tick()
    assert line.reference.pending == CUSHION * SIZE
    assert line.reference.slips == 1


def test_where_the_microphone_has_lost_much_the_reference_follows_at_once() -> None:
    line = Timeline()
    for _ in range(250):
        line.tick()
    line.tick(BURST + 5)
    assert line.reference.pending == CUSHION * SIZE and line.counts[-1] > BURST


def test_clocks_that_drift_apart_are_brought_together_without_loss() -> None:
    line = Timeline()
    for tick in range(5000):
        line.tick(2 if tick % 500 == 0 else 1)  # the sink is two thousandths faster
    assert line.taken == list(range(1, len(line.taken) + 1))
    assert line.written - len(line.taken) <= CUSHION + 4
    assert line.reference.lost == 0


def test_what_got_out_of_step_in_silence_is_in_step_again_before_anything_sounds() -> None:
    reference = Reference(48_000)
    sound, quiet = [frame(number) for number in range(1, 101)], frame(0)
    delays: list[set[int]] = [set(), set()]
    for tick, pcm in enumerate([*sound, *[quiet] * 400, *sound]):
        for _ in range(0 if 150 <= tick < 156 else 4 if tick == 156 else 1):  # it stands still, two frames are lost
            reference.played(pcm)
        for part in reference.take():
            if part.any():
                delays[tick >= 500].add(tick % 500 - int(part[0]))
    assert reference.late > 0
    assert len(delays[0]) == 1 and delays[1] == delays[0]
    assert reference.slips == 0


def test_a_sink_that_is_slower_gets_its_cushion_back_in_silence() -> None:
    reference, quiet = Reference(48_000), frame(0)
    for tick in range(2000):
        if tick % 400 != 399:
            reference.played(quiet)
        reference.take()
    assert reference.late == 0 and reference.pending >= SIZE


def test_clocks_that_drift_apart_in_silence_do_not_pile_it_up() -> None:
    reference, quiet = Reference(48_000), frame(0)
    for tick in range(20_000):
        reference.played(quiet)
        if tick % 100 == 0:
            reference.played(quiet)
        reference.take()
    assert reference.lost == 0 and reference.pending <= (CUSHION + 2) * SIZE


def test_what_a_sink_asks_for_at_once_when_it_begins_stays_ahead_without_a_slip() -> None:
    line = Timeline()
    line.tick(6)
    for _ in range(1000):
        line.tick()
    assert line.counts == [1] * 1001
    assert line.reference.slips == 0


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


@given(st.lists(st.integers(0, 12), min_size=1, max_size=400), st.integers(-5000, 5000))
def test_whatever_the_sink_does_every_sample_is_given_out_waits_or_is_counted(writes: list[int], ppm: int) -> None:
    reference = Reference(48_000)
    reference.drift.excess = ppm * 1e-6
    total = given_out = 0
    for count in writes:
        for _ in range(count):
            reference.played(frame(total % 3000))
            total += 1
        given_out += len(reference.take())
    consumed = given_out * SIZE * (1 + ppm * 1e-6)
    assert abs(total * SIZE - consumed - reference.pending - reference.lost) <= 4
