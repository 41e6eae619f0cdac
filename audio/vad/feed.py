"""Feeding a voice detector: its sample indexes become media time, and a detector that has died is started anew."""

from __future__ import annotations

import math
from collections.abc import Callable

import structlog

from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.vad.base import SpeechProb, VadAdapter, VadEvent

log = structlog.get_logger(__name__)

STALLED_S = 2.0
"""Sound fed without a single answer after which the detector counts as dead. Doubled while starting it anew does not
help, up to ``STALLED_MOST_S``."""

STALLED_MOST_S = 64.0

GAP_S = 1.5
"""Sound missing for longer than this ends whatever the detector was hearing: its state belongs to another time."""


class VadFeed:
    """A voice detector on the media clock of a session.

    Args:
        vad: the detector.
        on_stalled: called after the detector was started anew because it had stopped answering.
        on_gap: called after it was reset because sound was missing.
    """

    def __init__(
        self,
        vad: VadAdapter,
        on_stalled: Callable[[], None] = lambda: None,
        on_gap: Callable[[], None] = lambda: None,
    ) -> None:
        self.vad = vad
        self._on_stalled = on_stalled
        self._on_gap = on_gap
        self._offset: int | None = None
        self._fed = 0
        self._unanswered = 0
        self._patience_s = STALLED_S

    def feed(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """One frame that ends at ``sample`` on the media clock; returns its events, stamped with media time.

        Sound that never reaches the detector (muted, asleep) may lie between two frames.
        """
        self._fed += frame.size
        offset = sample - self._fed
        if self._offset is not None and offset - self._offset > GAP_S * CAPTURE_RATE_HZ:
            self.vad.reset()
            self._on_gap()
        self._offset = offset
        events = self.vad.process(frame)
        self._watch(frame.size, events)
        return [event.later(offset) for event in events]

    def reset(self) -> None:
        """Forget the segment in progress."""
        self.vad.reset()

    def _watch(self, samples: int, events: list[VadEvent]) -> None:
        if any(isinstance(event, SpeechProb) and not math.isnan(event.probability) for event in events):
            self._unanswered, self._patience_s = 0, STALLED_S
            return
        self._unanswered += samples
        if self._unanswered < self._patience_s * CAPTURE_RATE_HZ:
            return
        log.error("the voice detector has stopped answering", seconds=self._patience_s)
        self._unanswered = 0
        self._patience_s = min(2 * self._patience_s, STALLED_MOST_S)
        self.vad.rebuild()
        self._on_stalled()
