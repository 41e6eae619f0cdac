from __future__ import annotations

import numpy as np
import pytest

from audio.pcm import Pcm, silence
from audio.resample import StreamResampler, resample

RATES = [(24_000, 16_000), (16_000, 24_000), (48_000, 16_000), (44_100, 16_000), (8_000, 16_000), (22_050, 24_000)]


def tone(rate_hz: int, hz: float, seconds: float = 1.0) -> Pcm:
    t = np.arange(int(rate_hz * seconds)) / rate_hz
    return np.rint(12_000 * np.sin(2 * np.pi * hz * t)).astype(np.int16)


def streamed(pcm: Pcm, in_rate: int, out_rate: int, chunk: int) -> Pcm:
    stream = StreamResampler(in_rate, out_rate)
    parts = [stream.push(pcm[i : i + chunk]) for i in range(0, pcm.size, chunk)]
    return np.concatenate([*parts, stream.flush()])


@pytest.mark.parametrize(("in_rate", "out_rate"), RATES)
def test_a_second_stays_a_second_and_a_tone_stays_clean(in_rate: int, out_rate: int) -> None:
    out = streamed(tone(in_rate, 1000), in_rate, out_rate, in_rate // 100)
    assert abs(out.size - out_rate) <= 1
    middle = slice(out_rate // 10, -out_rate // 10)
    assert np.abs(out[middle].astype(int) - tone(out_rate, 1000)[: out.size][middle]).max() <= 2


@pytest.mark.parametrize("chunk", [1, 7, 160, 4_000])
def test_chunks_leave_no_seams(chunk: int) -> None:
    pcm = tone(24_000, 440, 0.5)
    whole = resample(pcm, 24_000, 16_000)
    assert np.abs(streamed(pcm, 24_000, 16_000, chunk).astype(int) - whole).max() <= 1


def test_the_same_recording_gives_the_same_samples_every_time() -> None:
    noise = (np.random.default_rng(1).standard_normal(24_000) * 3000).astype(np.int16)
    first, second = (streamed(noise, 24_000, 16_000, 240) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(resample(noise, 24_000, 16_000), resample(noise, 24_000, 16_000))


def test_silence_stays_silent() -> None:
    assert not streamed(silence(48_000), 24_000, 16_000, 240).any()


def test_a_tone_above_the_new_band_disappears_instead_of_folding_back() -> None:
    out = streamed(tone(48_000, 10_000), 48_000, 16_000, 480)
    assert np.abs(out[1600:-1600]).max() <= 1


def test_full_scale_is_clamped_not_wrapped() -> None:
    square = np.where(np.arange(16_000) // 20 % 2, 32767, -32768).astype(np.int16)
    out = resample(square, 16_000, 24_000).astype(int)
    # A wrapped overshoot would jump from one end of the range to the other inside a flat top.
    assert np.abs(np.diff(out)).max() < 60_000


def test_equal_rates_pass_through_and_nothing_stays_nothing() -> None:
    pcm = tone(16_000, 300, 0.01)
    assert np.array_equal(resample(pcm, 16_000, 16_000), pcm)
    stream = StreamResampler(16_000, 16_000)
    assert np.array_equal(stream.push(pcm), pcm)
    assert stream.flush().size == 0
    assert resample(silence(0), 24_000, 16_000).size == 0
    assert StreamResampler(24_000, 16_000).flush().size == 0
