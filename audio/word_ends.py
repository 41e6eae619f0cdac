"""Where the words of a stretch of speech end, found in its sound, for voices that do not say it.

Two things are known: how long each word should take by its letters, and where the sound falls quiet. Neither is enough:
words of equal length differ in duration, and there are quiet moments inside words (before a "t") and none between some.
So the ends are placed all at once, where the durations deviate least and many ends lie in a dip: dynamic programming
over the frames, as in the forced alignment of recognisers, with a model of sound that knows nothing but loudness.
Who speaks word by word is followed more simply: as many bursts of sound as there are words, each as long as a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from audio.pcm import Pcm

_Array = npt.NDArray[np.float64]

FRAME_S = 0.01
"""Loudness is measured in frames of this length, and ends are found to one of them."""

PAUSE_DB = 45.0
"""Sound this far below the loudest frame is a pause. It belongs to no word and takes none of their time."""

DIP_DB = 30.0
"""A dip this deep below the sound on both sides is as good as silence."""

DIP_REACH_FRAMES = 12
"""How far on each side the sound around a dip is looked for: about a syllable."""

DIP_WORTH = 0.25
"""What it is worth to end a word in silence, where a duration that is one standard deviation off costs a half."""

SPREAD = 0.4
"""Standard deviation of the logarithm of a word's duration, beside what is expected by its letters."""

BURST_FRAMES = 2
"""A burst of sound, and the pause between two, is at least so long."""

LONGEST = 3.0
"""How many times its expected duration a word may take."""

MOST_STEPS = 8_000_000
"""Work (frames, words and durations multiplied) above which nothing is looked for: it would hold up the loop."""

_SILENCE_DB = -100.0


class Loudness:
    """The loudness of a stretch of sound, in frames of ``FRAME_S``, measured as the sound comes.

    Args:
        rate_hz: of the sound.
    """

    def __init__(self, rate_hz: int) -> None:
        self._frame = max(1, round(rate_hz * FRAME_S))
        self._powers: list[_Array] = []
        self._rest = np.zeros(0, np.float64)

    def add(self, pcm: Pcm) -> None:
        """More sound."""
        sound = np.concatenate((self._rest, pcm.astype(np.float64)))
        whole = sound.size - sound.size % self._frame
        frames = sound[:whole].reshape(-1, self._frame)
        self._powers.append(np.einsum("ij,ij->i", frames, frames) / self._frame)
        self._rest = sound[whole:]

    def levels_db(self) -> _Array:
        """The level of each whole frame, in dB (full scale is 90)."""
        if len(self._powers) > 1:
            self._powers = [np.concatenate(self._powers)]
        powers = self._powers[0] if self._powers else np.zeros(0, np.float64)
        return 10 * np.log10(np.maximum(powers, 10 ** (_SILENCE_DB / 10)))


def word_ends(levels_db: _Array, weights: Sequence[int], gaps: Sequence[bool], frames: int) -> list[int] | None:
    """The frame at which each word ends, ascending; None if the stretch is empty, or too long to be looked at.

    Args:
        levels_db: loudness of the sound that there is.
        weights: how long each word should take, in any unit.
        gaps: for each word, whether a gap may follow it in the text; no dip is looked for at the others.
        frames: length of the whole stretch, at least that of ``levels_db``; what is missing is not known.
    """
    known, count = levels_db.size, len(weights)
    total = sum(weights)
    if not known or not total or frames < count:
        return None
    if known == frames and (ends := _burst_ends(levels_db, weights)) is not None:
        return ends
    elapsed, worth = _elapsed(levels_db, frames), _dips(levels_db, frames)
    expected = np.asarray(weights, np.float64) * (elapsed[-1] / total)
    longest = _longest_step(elapsed, LONGEST * float(expected.max()))
    if frames * longest * count > MOST_STEPS:
        return None
    return _place(elapsed, worth, expected, gaps, longest)


def _burst_ends(levels_db: _Array, weights: Sequence[int]) -> list[int] | None:
    """Where the bursts end if there is one per word: as many, and as long as the letters say, or all alike."""
    sounds = levels_db > levels_db.max() - PAUSE_DB
    edges = np.flatnonzero(np.diff(np.concatenate(([False], sounds, [False]))))
    starts, ends = edges[::2], edges[1::2]
    if starts.size < 2:
        return None
    apart = starts[1:] - ends[:-1] >= BURST_FRAMES
    starts, ends = starts[np.append(True, apart)], ends[np.append(apart, True)]
    lengths = ends - starts
    if lengths.size != len(weights) or lengths.min() < BURST_FRAMES:
        return None
    beats = np.log(lengths)
    by_letters = beats - np.log(weights)
    return None if min(beats.std(), by_letters.std()) > SPREAD else [int(end) for end in ends]


def _elapsed(levels_db: _Array, frames: int) -> _Array:
    """For each boundary between frames, how many frames of speech lie before it."""
    spoken = np.ones(frames)
    spoken[: levels_db.size] = levels_db > levels_db.max() - PAUSE_DB
    return np.concatenate(([0.0], np.cumsum(spoken)))


def _dips(levels_db: _Array, frames: int) -> _Array:
    """For each boundary, how much a word that ends there gains from the dip in the sound, 0…``DIP_WORTH``."""
    floor = levels_db.max() - 2 * DIP_DB
    padded = np.pad(np.maximum(levels_db, floor), DIP_REACH_FRAMES, constant_values=floor)
    around = np.lib.stride_tricks.sliding_window_view(padded, DIP_REACH_FRAMES).max(axis=1)
    inside = padded[DIP_REACH_FRAMES:-DIP_REACH_FRAMES]
    depth = np.minimum(around[: inside.size], around[-inside.size :]) - inside
    depth[levels_db <= levels_db.max() - PAUSE_DB] = DIP_DB  # also in the midst of a long pause
    worth = np.zeros(frames + 1)
    worth[: inside.size] = DIP_WORTH * np.clip(depth / DIP_DB, 0.0, 1.0)
    return worth


def _longest_step(elapsed: _Array, most: float) -> int:
    """The most boundaries that lie within ``most`` frames of speech, pauses included."""
    reach = np.searchsorted(elapsed, elapsed + most, side="right") - np.arange(elapsed.size)
    return max(1, int(reach.max()))


def _place(elapsed: _Array, worth: _Array, expected: _Array, gaps: Sequence[bool], longest: int) -> list[int]:
    """The cheapest boundaries. The last word ends with the stretch."""
    size = elapsed.size
    padded = np.concatenate((np.full(longest, -np.inf), elapsed))
    starts = np.lib.stride_tricks.sliding_window_view(padded[:-1], longest)  # [boundary, step]: where a word may begin
    with np.errstate(divide="ignore"):
        durations = np.log(np.where(np.isfinite(starts), elapsed[:, None] - starts, 0.0))  # none: minus infinity
    cost = np.full(size, np.inf)
    cost[0] = 0.0
    back = np.zeros((expected.size, size), np.int64)
    every = np.arange(size)
    for word, duration in enumerate(np.log(expected)):
        before = np.lib.stride_tricks.sliding_window_view(
            np.concatenate((np.full(longest, np.inf), cost))[:-1], longest
        )
        all_costs = before + (durations - duration) ** 2 * (0.5 / SPREAD**2)
        step = all_costs.argmin(axis=1)
        back[word] = every - longest + step
        cost = all_costs[every, step] - (worth if gaps[word] else 0.0)
    ends = [size - 1]
    for word in range(expected.size - 1, 0, -1):
        ends.append(int(back[word][ends[-1]]))
    return ends[::-1]
