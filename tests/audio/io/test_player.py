from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.io.player import Player
from audio.pcm import Pcm, silence

RATE = 24_000


def ramp(samples: int, start: int = 1) -> Pcm:
    return np.arange(start, start + samples).astype(np.int16)


class Watch:
    """Notes when sound begins and runs out."""

    def __init__(self, player: Player) -> None:
        self.seen: list[str] = []
        player.on_started = lambda: self.seen.append("started")
        player.on_drained = lambda: self.seen.append("drained")


def test_sound_is_played_in_order_and_followed_by_silence() -> None:
    player = Player()
    player.enqueue(ramp(300), RATE, 0)
    player.enqueue(ramp(100, 301), RATE, 0)
    assert np.concatenate([player.pull(160) for _ in range(3)]).tolist() == [*range(1, 401), *[0] * 80]
    assert player.played == 400
    assert player.idle


def test_a_pause_stands_still_and_goes_on_at_the_same_sample() -> None:
    player = Player()
    player.enqueue(ramp(500), RATE, 0)
    player.pull(123)
    player.pause()
    assert player.paused
    assert not any(player.pull(240).any() for _ in range(50))
    assert player.played == 123
    player.resume()
    assert player.pull(3).tolist() == [124, 125, 126]


def test_a_pause_is_neither_an_end_nor_a_new_beginning() -> None:
    player = Player()
    watch = Watch(player)
    player.enqueue(ramp(500), RATE, 0)
    player.pull(240)
    player.pause()
    player.pull(240)
    player.resume()
    for _ in range(5):
        player.pull(240)
    assert watch.seen == ["started", "drained"]


def test_beginning_and_end_are_told_once_per_stretch_of_sound() -> None:
    player = Player()
    watch = Watch(player)
    player.pull(240)
    assert watch.seen == []
    player.enqueue(ramp(480), RATE, 0)
    assert watch.seen == []
    player.pull(240)
    player.pull(240)
    assert watch.seen == ["started"]
    player.pull(240)
    player.pull(240)
    assert watch.seen == ["started", "drained"]
    player.enqueue(ramp(10), RATE, 0)
    player.pull(240)
    assert watch.seen == ["started", "drained"] * 2


def test_an_interruption_leaves_no_sound_and_tells_no_end() -> None:
    player = Player()
    watch = Watch(player)
    player.enqueue(ramp(5_000), RATE, 0)
    player.pull(240)
    player.pause()
    generation = player.next_generation()
    assert (generation, player.played, player.cut, player.paused) == (1, 0, 4_760, False)
    assert not player.pull(240).any()
    assert watch.seen == ["started"]


def test_sound_of_an_old_reply_never_reaches_the_ear() -> None:
    player = Player()
    player.next_generation()
    assert player.enqueue(ramp(1_600), 16_000, 0) == 0
    assert player.finish(0) == 0
    assert player.dropped == 2_400
    assert not player.pull(4_800).any()


def test_what_the_resampler_held_for_an_old_reply_is_not_heard_in_the_next() -> None:
    player = Player()
    player.enqueue(np.full(400, 9_000, np.int16), 16_000, 0)
    generation = player.next_generation()
    player.enqueue(silence(4_000), 16_000, generation)
    player.finish(generation)
    assert not player.pull(6_000).any()


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 24_000, 48_000])
def test_a_voice_of_any_rate_is_played_to_its_last_sample(rate_hz: int) -> None:
    player = Player()
    added = sum(player.enqueue(ramp(rate_hz // 10), rate_hz, 0) for _ in range(10))
    added += player.finish(0)
    assert abs(added - RATE) <= 1
    player.pull(RATE * 2)
    assert player.played == added


def test_a_voice_that_changes_its_rate_loses_nothing_in_between() -> None:
    player = Player()
    added = player.enqueue(ramp(1_600), 16_000, 0)
    added += player.enqueue(ramp(4_800), 48_000, 0)
    added += player.enqueue(ramp(2_400), RATE, 0)
    assert abs(added - 3 * 2_400) <= 3
    assert player.finish(0) == 0
    player.pull(added)
    assert player.played == added
    assert player.idle


def test_finishing_twice_adds_nothing() -> None:
    player = Player()
    player.enqueue(ramp(1_600), 16_000, 0)
    assert player.finish(0) > 0
    assert player.finish(0) == 0


def test_producers_are_told_to_wait_and_nothing_is_dropped_if_they_do_not() -> None:
    player = Player(max_queued_s=0.1)
    player.enqueue(ramp(2_399), RATE, 0)
    assert not player.full
    player.enqueue(ramp(100), RATE, 0)
    assert player.full
    assert player.queued_s == pytest.approx(2_499 / RATE)
    player.pull(2_500)
    assert player.played == 2_499
    assert not player.full


def test_a_producer_may_reuse_its_buffer() -> None:
    player = Player()
    buffer = ramp(240)
    player.enqueue(buffer, RATE, 0)
    buffer[:] = 0
    assert player.pull(240).all()


_OPERATIONS = st.one_of(
    st.tuples(st.just("enqueue"), st.integers(0, 900), st.sampled_from([16_000, 24_000]), st.integers(0, 2)),
    st.tuples(st.just("pull"), st.integers(0, 600)),
    st.tuples(st.sampled_from(["pause", "resume", "next_generation", "finish"])),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_OPERATIONS, max_size=60))
def test_every_sample_is_played_cut_or_still_waiting(operations: list[tuple[object, ...]]) -> None:
    player = Player()
    watch = Watch(player)
    accepted = refused = heard = 0
    for name, *arguments in operations:
        before = player.played
        match name, arguments:
            case "enqueue", [int(size), int(rate), int(age)]:
                generation = player.generation - age
                added = player.enqueue(np.full(size, 100, np.int16), rate, generation)
                accepted += added
                if age:
                    assert added == 0
                    refused += round(size * RATE / rate)
            case "finish", _:
                accepted += player.finish(player.generation)
            case "pull", [int(size)]:
                paused = player.paused
                out = player.pull(size)
                assert out.size == size
                heard += player.played - before
                assert not (paused and out.any())
            case other, _:
                getattr(player, str(other))()
        assert accepted == player.played_total + player.cut + round(player.queued_s * RATE)
        assert player.dropped == refused
        assert player.played_total == heard
        assert player.idle == (round(player.queued_s * RATE) == 0)
        assert watch.seen.count("drained") <= watch.seen.count("started")
        assert "drained, drained" not in ", ".join(watch.seen)
