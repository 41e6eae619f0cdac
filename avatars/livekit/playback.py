"""Which utterance a face's report is about.

Reports carry no name of what they are about, and they come late, twice, too early or never: a receiver that was told to
fall silent reports the cut, and often reports the end of the same utterance once more. So a report is believed only
where it can be true: of an utterance that was given as a whole, whose sound can have played in the time there was.
"""

from __future__ import annotations

from dataclasses import dataclass

from avatars.livekit.protocol import PlaybackReport
from avatars.unplayed import Unplayed, Utterance

SLACK_S = 0.5
"""A face reports this much early: what is in its last buffers counts as played."""

GRACE_S = 5.0
"""How long a report may be late before an utterance counts as played without one, in seconds."""

CLEAR_S = 2.0
"""How long a face may take to report what it has played of an utterance that was cut."""


@dataclass(frozen=True)
class Settled:
    """How an utterance ended. ``played_s``: as the face reports, or None."""

    utterance: Utterance
    cut: bool
    played_s: float | None = None


class Playback:
    """Keeps count: each utterance is settled once, and only once.

    All times are seconds on the clock of ``unplayed``.

    Attributes:
        ignored: reports that were not believed.
    """

    def __init__(self, unplayed: Unplayed) -> None:
        self._unplayed = unplayed
        self._cut: tuple[Utterance, ...] = ()
        self._cut_due: float | None = None
        self._late_cuts = 0
        self.ignored = 0

    def started(self, now: float) -> Utterance | None:
        """The face begins to play. Returns the utterance, or None if that cannot be."""
        before: Utterance | None = None
        for utterance in self._unplayed.utterances:
            if not utterance.started:
                # The end of the one before may be reported after this.
                if before is not None and self._unplayed.seconds_of(before, now) > SLACK_S:
                    return None
                self._unplayed.begun(utterance, now)
                return utterance
            before = utterance
        return None

    def cut(self, utterances: tuple[Utterance, ...], now: float) -> list[Settled]:
        """``utterances`` were cut, and the face was told. Returns those of an earlier cut that never was reported."""
        if not utterances:
            return []
        late = self._give_up()
        self._cut, self._cut_due = utterances, now + CLEAR_S
        return late

    def finished(self, report: PlaybackReport, now: float) -> list[Settled]:
        """The face reports. Returns what that settles."""
        if self._cut:
            return self._finished_cut(report)
        if report.interrupted and self._late_cuts:
            self._late_cuts -= 1
            return self._ignore()
        first = self._first()
        if first is None or not (report.interrupted or self._can_be_over(first, report, now)):
            return self._ignore()
        self._late_cuts = 0
        self._unplayed.over(first, now)
        return [Settled(first, report.interrupted, self._clipped(first, report.position_s))]

    def overdue(self, now: float) -> list[Settled]:
        """What counts as settled because the face has said nothing for too long."""
        settled: list[Settled] = []
        if self._cut_due is not None and now >= self._cut_due:
            settled += self._give_up()
        while (first := self._first()) is not None and (due := self._due_of(first)) is not None and due <= now:
            self._unplayed.over(first, now)
            settled.append(Settled(first, cut=False))
        return settled

    def next_due(self) -> float | None:
        """When to ask ``overdue`` again."""
        first = self._first()
        dues = [self._cut_due, None if first is None else self._due_of(first)]
        return min((due for due in dues if due is not None), default=None)

    def forget_cut(self) -> list[Settled]:
        """The face is gone, or does not fall silent when told to: no report of the cut will come."""
        self._late_cuts = 0
        return self._settle_cut(None)

    def _first(self) -> Utterance | None:
        return next(iter(self._unplayed.utterances), None)

    def _due_of(self, utterance: Utterance) -> float | None:
        if not utterance.ended or utterance.left is not None:
            return None
        return utterance.ends_at + GRACE_S

    def _can_be_over(self, utterance: Utterance, report: PlaybackReport, now: float) -> bool:
        if not utterance.ended:
            return False
        left_s, length_s = self._unplayed.seconds_of(utterance, now), utterance.samples / self._unplayed.rate_hz
        if left_s <= 0:
            return True
        fits = report.position_s is None or report.position_s >= length_s - SLACK_S
        return fits and left_s <= min(SLACK_S, length_s / 2)

    def _finished_cut(self, report: PlaybackReport) -> list[Settled]:
        first = self._cut[0]
        length_s = first.samples / self._unplayed.rate_hz
        if not report.interrupted and (report.position_s or 0.0) > length_s + SLACK_S:
            return self._ignore()
        return self._settle_cut(report)

    def _settle_cut(self, report: PlaybackReport | None) -> list[Settled]:
        cut, self._cut, self._cut_due = self._cut, (), None
        settled: list[Settled] = []
        for place, utterance in enumerate(cut):
            played_s = None if report is None else self._clipped(utterance, report.position_s)
            if place and played_s is not None:
                played_s = 0.0
            settled.append(Settled(utterance, cut=True, played_s=played_s))
        return settled

    def _give_up(self) -> list[Settled]:
        self._late_cuts += bool(self._cut)
        return self._settle_cut(None)

    def _clipped(self, utterance: Utterance, position_s: float | None) -> float | None:
        return None if position_s is None else min(position_s, utterance.samples / self._unplayed.rate_hz)

    def _ignore(self) -> list[Settled]:
        self.ignored += 1
        return []
