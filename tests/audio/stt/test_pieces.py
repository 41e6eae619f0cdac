from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.pcm import silence
from audio.stt.pieces import join_texts, split_at_quiet


@settings(deadline=None)
@given(st.integers(0, 200_000), st.integers(500, 40_000))
def test_the_pieces_are_the_whole_and_none_is_too_long(size: int, longest: int) -> None:
    pcm = np.arange(size).astype(np.int16)
    pieces = split_at_quiet(pcm, longest)
    assert all(0 < piece.size <= longest for piece in pieces)
    assert np.array_equal(np.concatenate([silence(0), *pieces]), pcm)


def test_the_cut_falls_into_the_pause() -> None:
    rng = np.random.default_rng(0)
    pcm = rng.normal(0, 3000, 20 * 16_000).astype(np.int16)
    pcm[8 * 16_000 : 8 * 16_000 + 4800] = 0
    first, *_ = split_at_quiet(pcm, 10 * 16_000)
    assert 8 * 16_000 <= first.size <= 8 * 16_000 + 4800


def test_texts_are_joined_as_the_language_is_written() -> None:
    assert join_texts(["one", "", "two"], "en") == "one two"
    assert join_texts(["客観的", "実在"], "ja") == "客観的実在"
