"""Several microphones as one: who is heard, clocks that differ, and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from audio.pcm import Pcm
from realtime.browser.jitter import MOST_FRAMES
from realtime.livekit.speakers import HOLD_MS, MOST_SPEAKERS, Policy, SpeakerMix


def voice(level: int, frames: int = 1) -> Pcm:
    return np.full(160 * frames, level, np.int16)


class Table:
    """People who speak at levels of their own."""

    def __init__(self, policy: Policy, *who: str, identity: str = "") -> None:
        self.mix = SpeakerMix(policy, identity)
        self.floors: list[str] = []
        self.mix.on_floor = self.floors.append
        for name in who:
            self.mix.add(f"track-{name}", name)

    def pass_time(self, frames: int, **levels: int) -> list[int]:
        """What is heard while ``frames`` pass and each speaks at a level (0: silence that is sent)."""
        heard: list[int] = []
        for _ in range(frames):
            for name, level in levels.items():
                self.mix.push(f"track-{name}", voice(level))
            frame = self.mix.frame()
            assert frame is not None and frame.size == 160
            heard.append(int(frame[-1]))
        return heard


def test_mix_adds_up_and_does_not_wrap_around() -> None:
    table = Table("mix", "alice", "bob")
    assert table.pass_time(20, alice=1000, bob=2000)[-5:] == [3000] * 5
    assert table.pass_time(20, alice=30_000, bob=30_000)[-5:] == [32_767] * 5


def test_case_f32_a_second_participant_does_not_make_time_run_faster() -> None:
    table = Table("mix", "alice", "bob")
    table.pass_time(500, alice=1000, bob=2000)
    assert table.mix.waiting < 12


def test_case_f32_a_slow_clock_leaves_gaps_and_does_not_delay_the_other() -> None:
    table = Table("mix", "slow", "bob")
    sums: list[int] = []
    for tick in range(3000):
        if tick % 50:  # 2 % slow
            table.mix.push("track-slow", voice(500))
        table.mix.push("track-bob", voice(2000))
        frame = table.mix.frame()
        assert frame is not None
        sums.append(int(frame[-1]))
    assert set(sums[10:]) <= {2000, 2500}
    assert sums.count(2500) > 2500


def test_case_f32_a_fast_clock_is_bounded() -> None:
    table = Table("mix", "fast")
    for _ in range(3000):
        table.mix.push("track-fast", voice(500, frames=2))
        table.mix.frame()
    assert table.mix.waiting <= MOST_FRAMES


def test_the_loudest_takes_the_floor_only_if_clearly_louder() -> None:
    table = Table("loudest", "alice", "bob")
    table.pass_time(30, alice=1000, bob=0)
    assert table.pass_time(100, alice=1000, bob=1500)[-1] == 1000
    assert table.pass_time(100, alice=1000, bob=4000)[-1] == 4000
    assert table.floors == ["alice", "bob"]


def test_who_began_is_heard_until_silent() -> None:
    table = Table("first", "alice", "bob")
    table.pass_time(30, alice=1000, bob=0)
    assert table.pass_time(100, alice=1000, bob=8000)[-1] == 1000
    held = table.pass_time(HOLD_MS // 10 + 20, alice=0, bob=8000)
    assert held[HOLD_MS // 20] == 0 and held[-1] == 8000


def test_only_the_chosen_one_is_heard() -> None:
    table = Table("identity", "alice", "bob", identity="bob")
    assert table.pass_time(20, alice=9000, bob=700)[-1] == 700
    assert not table.mix.wants("alice") and table.mix.wants("bob")
    with pytest.raises(ValueError, match="identity"):
        SpeakerMix("identity")


def test_whoever_leaves_is_silent_at_once() -> None:
    table = Table("mix", "alice", "bob")
    table.pass_time(20, alice=1000, bob=2000)
    table.mix.remove("track-bob")
    assert table.pass_time(5, alice=1000)[-1] == 1000
    table.mix.push("track-bob", voice(2000))
    assert table.pass_time(5, alice=1000)[-1] == 1000


def test_a_muted_microphone_says_nothing_that_was_under_way() -> None:
    table = Table("mix", "alice")
    table.mix.push("track-alice", voice(1000, frames=50))
    table.pass_time(5)
    table.mix.forget("track-alice")
    assert table.pass_time(20) == [0] * 20


def test_too_many_microphones_are_refused_and_counted() -> None:
    mix = SpeakerMix()
    taken = [mix.add(f"track-{number}", f"who-{number}") for number in range(MOST_SPEAKERS + 3)]
    assert taken.count(True) == MOST_SPEAKERS and mix.refused == 3
