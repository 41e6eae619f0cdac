"""The sound that a face was given and has not played: by how much it is behind, and which samples those are.

A face is given speech faster than it plays, and most of them never say where they are. What they have played follows
from the clock all the same: sound plays from when it is given, without gaps while there is some. Reports of the face,
where there are any, correct the clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from audio.pcm import Pcm, silence


@dataclass(eq=False)
class Utterance:
    """One utterance on its way.

    Attributes:
        number: from 1 on, counted over the life of a face.
        samples: how many were given.
        ended: whether all were given.
        started: whether the face has reported that it plays.
        settled: whether it was told how the utterance ended.
        ends_at: when all that was given is played, by the clock.
        left: while the face is not there, how many samples it has not played; the clock then means nothing.
    """

    number: int
    samples: int = 0
    ended: bool = False
    started: bool = False
    settled: bool = False
    ends_at: float = 0.0
    left: int | None = None
    kept: deque[Pcm] = field(default_factory=lambda: deque[Pcm](), repr=False)
    kept_from: int = 0

    def keep_from(self, sample: int) -> None:
        """Let go of whole pieces before ``sample``."""
        while self.kept and self.kept_from + self.kept[0].size <= sample:
            self.kept_from += self.kept.popleft().size

    def rest(self, sample: int) -> Pcm:
        """The samples from ``sample`` on, as far as they were kept."""
        pieces = [*self.kept]
        if not pieces:
            return silence(0)
        return np.concatenate(pieces)[max(0, sample - self.kept_from) :]


@dataclass(frozen=True)
class Rest:
    """What is left to be played of an utterance."""

    utterance: Utterance
    pcm: Pcm = field(repr=False)


class Unplayed:
    """Utterances that are not over, in order, with a clock that says how far the face is.

    All times are seconds on one monotonic clock. A face that is not there plays nothing: between ``hold`` and
    ``release`` the clock stands still.

    Args:
        rate_hz: of all samples.
        limit_s: how much unplayed sound is kept; beyond it the oldest is let go, and counted in ``dropped``.
        lag_s: by how much a face is later than the clock says. So much is played again after a ``hold``: half a
            syllable heard twice does less harm than a word that nobody heard.

    Attributes:
        dropped: samples that were let go without being played.
    """

    def __init__(self, rate_hz: int, limit_s: float, lag_s: float = 0.0) -> None:
        self.rate_hz = rate_hz
        self.dropped = 0
        self._limit = round(limit_s * rate_hz)
        self._lag_s = lag_s
        self._utterances: deque[Utterance] = deque()
        self._count = 0
        self._held = False

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """Those that are not over, oldest first."""
        return tuple(self._utterances)

    @property
    def open(self) -> Utterance | None:
        """The utterance that more sound belongs to."""
        last = self._utterances[-1] if self._utterances else None
        return None if last is None or last.ended else last

    def begin(self) -> Utterance:
        """Open the next utterance."""
        self._count += 1
        utterance = Utterance(self._count, left=0 if self._held else None)
        if self._utterances:
            utterance.ends_at = self._utterances[-1].ends_at
        self._utterances.append(utterance)
        return utterance

    def add(self, utterance: Utterance, pcm: Pcm, now: float) -> None:
        """More sound of the newest utterance, given at ``now``."""
        if utterance.left is None:
            utterance.ends_at = max(utterance.ends_at, now) + pcm.size / self.rate_hz
        else:
            utterance.left += pcm.size
        utterance.samples += pcm.size
        utterance.kept.append(pcm)
        self._trim(now)

    def seconds(self, now: float) -> float:
        """How much sound was not played at ``now``."""
        return sum(self._left(one, now) for one in self._utterances) / self.rate_hz

    def seconds_of(self, utterance: Utterance, now: float) -> float:
        """How long the face needs until the end of ``utterance``, in seconds from ``now``."""
        if utterance.left is None:
            return max(0.0, utterance.ends_at - now)
        return sum(one.left or 0 for one in self._utterances if one.number <= utterance.number) / self.rate_hz

    def played(self, utterance: Utterance, now: float) -> int:
        """How many samples of ``utterance`` were played."""
        return utterance.samples - self._left(utterance, now)

    def begun(self, utterance: Utterance, now: float) -> None:
        """The face reports that it begins to play ``utterance``."""
        utterance.started = True
        if not self._held:
            self._play_from(now, utterance.number)

    def over(self, utterance: Utterance, now: float) -> None:
        """``utterance``, the oldest, was played or given up: the next begins now at the earliest."""
        if utterance in self._utterances:
            self._utterances.remove(utterance)
        if not self._held and self._utterances and not self._utterances[0].started:
            self._play_from(now, self._utterances[0].number)

    def forget_played(self, now: float) -> None:
        """Those that ended and were played by the clock are over."""
        while self._utterances and self._utterances[0].ended and self._left(self._utterances[0], now) == 0:
            self._utterances.popleft()

    def cut(self) -> tuple[Utterance, ...]:
        """Nothing more is to be played. Returns the utterances that this cuts."""
        cut = self.utterances
        self._utterances.clear()
        return cut

    def hold(self, now: float) -> None:
        """The face plays no more."""
        if self._held:
            return
        for one in self._utterances:
            one.left = min(one.samples, max(0, round((one.ends_at - now + self._lag_s) * self.rate_hz)))
        self._held = True

    def release(self, now: float) -> tuple[Rest, ...]:
        """The face plays again, and is to be given this."""
        self._trim(now)
        rests = tuple(Rest(one, one.rest(self.played(one, now))) for one in self._utterances)
        self._held = False
        ends_at = now
        for rest in rests:
            ends_at += rest.pcm.size / self.rate_hz
            rest.utterance.ends_at, rest.utterance.left, rest.utterance.started = ends_at, None, False
        return rests

    def _left(self, utterance: Utterance, now: float) -> int:
        if utterance.left is not None:
            return utterance.left
        return min(utterance.samples, max(0, round((utterance.ends_at - now) * self.rate_hz)))

    def _play_from(self, now: float, number: int) -> None:
        """Utterance ``number`` and what follows it plays from ``now`` on."""
        for one in self._utterances:
            if one.number >= number:
                now = one.ends_at = now + one.samples / self.rate_hz

    def _trim(self, now: float) -> None:
        for utterance in self._utterances:
            utterance.keep_from(self.played(utterance, now) - round(self._lag_s * self.rate_hz))
        kept = sum(one.samples - one.kept_from for one in self._utterances)
        for utterance in self._utterances:
            while kept > self._limit and utterance.kept:
                size = utterance.kept.popleft().size
                utterance.kept_from += size
                kept -= size
                self.dropped += size
