"""Two clocks: the speaker's and the microphone's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.dsp.drift import FEWEST, Drift, Stretch
from audio.pcm import Pcm, round_to_pcm


def run(
    drift: Drift, ppm: float, seconds: float, *, late_s: float = 0.003, seed: int = 1, begin_s: float = 5.0
) -> None:
    """Both streams call every 10 ms of their own clocks, each time late by something."""
    rng = np.random.default_rng(seed)
    calls = [(k * 0.01 / (1 + ppm * 1e-6), True) for k in range(round(seconds * 100))]
    calls += [(k * 0.01, False) for k in range(round(seconds * 100))]
    for at, speaker in sorted(calls):
        arrived = begin_s + at + rng.exponential(late_s)
        if speaker:
            drift.played(480, arrived)
        else:
            drift.captured(160, 16_000, arrived)


@pytest.mark.parametrize("ppm", [-1000, -200, 50, 200, 1000, 5000])
def test_the_difference_of_two_clocks_is_known_within_half_a_minute(ppm: int) -> None:
    drift = Drift(48_000)
    run(drift, ppm, 30)
    assert drift.excess * 1e6 == pytest.approx(ppm, abs=15)


def test_a_busy_machine_does_not_make_two_clocks_of_one() -> None:
    drift = Drift(48_000)
    run(drift, 0, 60, late_s=0.008)
    assert abs(drift.excess) < 40e-6


def test_before_there_is_enough_to_judge_by_nothing_is_assumed() -> None:
    drift = Drift(48_000)
    run(drift, 1000, FEWEST - 2)
    assert drift.excess == 0.0


def test_clocks_that_hardly_differ_are_left_alone() -> None:
    drift = Drift(48_000)
    run(drift, 5, 40, late_s=0.0005)
    assert drift.excess == 0.0


def test_a_gap_of_the_sink_is_no_drift() -> None:
    drift = Drift(48_000)
    run(drift, 200, 30)
    for seconds, begin_s in ((10, 35.4), (25, 46.0)):  # 400 and 600 ms without a call
        run(drift, 200, seconds, begin_s=begin_s)
        assert drift.excess * 1e6 == pytest.approx(200, abs=20)


def tone(samples: int, hz: float, rate: float = 48_000) -> Pcm:
    return round_to_pcm(8000 * np.sin(2 * np.pi * hz * np.arange(samples) / rate))


def stretched(pcm: Pcm, excess: float) -> Pcm:
    stretch, at, out = Stretch(480), 0, list[Pcm]()
    while True:
        wanted = stretch.wants(excess) * 480
        if at + wanted > pcm.size:
            return np.concatenate(out)
        out.append(stretch.pass_on([pcm[i : i + 480] for i in range(at, at + wanted, 480)], excess))
        at += wanted


@pytest.mark.parametrize("excess", [1e-3, -1e-3, 2e-4])
def test_a_stretched_tone_is_the_tone_of_the_other_clock(excess: float) -> None:
    out = stretched(tone(48_000 * 2, 1000), excess).astype(float)
    ideal = tone(out.size, 1000 * (1 + excess)).astype(float)
    error = 10 * np.log10(np.mean((out - ideal) ** 2) / np.mean(ideal**2))
    assert error < -55


def test_without_drift_frames_pass_untouched() -> None:
    pcm = tone(4800, 440)
    frames = pcm.reshape(-1, 480)
    stretch = Stretch(480)
    assert all(stretch.pass_on([frame], 0.0) is frame for frame in frames)
    assert stretch.held == 0


@given(st.lists(st.sampled_from([0.0, 2e-5, -2e-5, 1e-3, -1e-3, 5e-3]), min_size=10, max_size=300))
def test_an_estimate_that_changes_leaves_no_seam(changes: list[float]) -> None:
    stretch, number, out = Stretch(480), 0, list[Pcm]()
    for excess in changes:
        frames = list[Pcm]()
        for _ in range(stretch.wants(excess)):
            frames.append((np.arange(number * 480, (number + 1) * 480) // 8).astype(np.int16))
            number += 1
        out.append(stretch.pass_on(frames, excess))
    steps = np.diff(np.concatenate(out).astype(int))
    assert steps.min() >= 0 and steps.max() <= 1, "a ramp stays one"
