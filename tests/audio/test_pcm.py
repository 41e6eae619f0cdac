from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import (
    ByteJoiner,
    FrameCutter,
    float_to_pcm,
    ms_to_samples,
    pcm_to_float,
    rms,
    round_to_pcm,
    silence,
)


def test_floats_are_clamped_and_scaled_to_both_ends_of_the_range() -> None:
    assert float_to_pcm(np.array([-2.0, -1.0, 0.0, 1.0, 3.0])).tolist() == [-32768, -32768, 0, 32767, 32767]


def test_a_broken_float_becomes_silence_or_the_limit_instead_of_noise() -> None:
    assert float_to_pcm(np.array([np.nan, np.inf, -np.inf])).tolist() == [0, 32767, -32768]


def test_every_sample_survives_the_way_to_float_and_back() -> None:
    every = np.arange(-32768, 32768).astype(np.int16)
    floats = pcm_to_float(every)
    assert floats.min() == -1.0
    assert floats.max() == 1.0
    assert np.array_equal(float_to_pcm(floats), every)


def test_rounding_does_not_wrap_around_at_full_scale() -> None:
    assert round_to_pcm(np.array([40000.0, -40000.0, 0.6, np.nan])).tolist() == [32767, -32768, 1, 0]


def test_level_is_measured_against_full_scale_and_is_zero_for_nothing() -> None:
    assert rms(silence(0)) == 0.0
    assert rms(np.full(100, -32768, np.int16)) == 1.0
    assert rms(np.full(100, 3277, np.int16)) == pytest.approx(0.1, abs=1e-4)


def test_durations_are_rounded_to_samples() -> None:
    assert ms_to_samples(10, 16_000) == 160
    assert ms_to_samples(0.1, 16_000) == 2


@given(st.lists(st.integers(-32768, 32767), max_size=60), st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_bytes_split_anywhere_never_shift_samples(samples: list[int], cuts: list[int]) -> None:
    data = np.array(samples, "<i2").tobytes()
    joiner, got, at = ByteJoiner(), [], 0
    for cut in cuts:
        got += joiner.push(data[at : at + cut]).tolist()
        at += cut
    got += joiner.push(data[at:]).tolist()
    assert got == samples


@given(st.lists(st.integers(0, 400), max_size=30), st.integers(1, 200))
def test_frames_hold_every_sample_in_order_whatever_the_chunks(sizes: list[int], frame: int) -> None:
    stream = np.arange(sum(sizes)).astype(np.int16)
    cutter, frames, at = FrameCutter(frame), [], 0
    for size in sizes:
        frames += cutter.push(stream[at : at + size])
        at += size
    assert all(len(one) == frame for one in frames)
    assert cutter.pending == stream.size % frame
    rest = cutter.flush()
    joined = np.concatenate([*frames, silence(0) if rest is None else rest])
    assert np.array_equal(joined[: stream.size], stream)
    assert not joined[stream.size :].any()


def test_a_sound_card_may_reuse_its_buffer_after_handing_it_over() -> None:
    buffer = np.arange(160).astype(np.int16)
    (frame,) = FrameCutter(160).push(buffer)
    buffer[:] = 0
    assert frame.tolist() == list(range(160))


def test_a_reset_cutter_forgets_the_remainder() -> None:
    cutter = FrameCutter(10)
    cutter.push(silence(7))
    cutter.reset()
    assert cutter.flush() is None
