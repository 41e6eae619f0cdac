"""The way of a microphone frame into the session: kept for a moment, searched for the wake phrase, and handed to the
turn engine if attention allows.

Two rules keep the appliance from waking itself. What it plays is searched for the phrase as well, by a more easily
excited detector; a hit of the microphone within ``SELF_WAKE_S`` of one there is its own voice. And where the room has
no echo cancellation, the engine hears nothing while the appliance speaks and ``TAIL_S`` longer; there the wake phrase,
which is judged in the same way, is what interrupts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import structlog

from audio.dsp.quiet import QuietGate
from audio.io.player import Player
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm
from audio.resample import StreamResampler
from audio.turns.contract import Phase
from audio.turns.ears import Ears
from audio.vad.base import VadEvent
from audio.wake.attention import Hearing
from audio.wake.base import WakeDetector, WakeHeard

log = structlog.get_logger(__name__)

REPLAY_S = 1.6
"""How much from before a wake hit the engine hears: the phrase itself (about a second) and the detector's delay, so
that what follows in the same breath is not lost and the recogniser sees the phrase whole."""

SELF_WAKE_S = 2.0
"""How long after a wake phrase in the appliance's own sound hits of the microphone do not count: longer than any
output latency."""

JUDGE_S = 0.15
"""How long a hit waits for a verdict while the appliance sounds: the two detectors need not agree on the frame."""

SEARCH_FRAMES = 8
"""Frames that are searched for the phrase in one go: 80 ms later, and a third of the processor time."""

LEAD = 8
"""Stretches of ``SEARCH_FRAMES`` from before a quiet room became louder that are searched as well: 640 ms."""

TAIL_S = 0.3
"""How long a room without echo cancellation still rings after the last sample was played."""

TAP_BLOCKS = 256
"""Blocks of playback that may wait to be searched."""


class EarHost(Protocol):
    """Whom the ear asks and tells. Calls are synchronous."""

    def hearing(self) -> Hearing:
        """What speech may do now."""
        ...

    def woken(self, heard: WakeHeard) -> bool:
        """The wake phrase was said. Returns whether the engine shall hear what came before."""
        ...

    def agent_sounds(self) -> bool:
        """Whether a reply or an announcement can be heard."""
        ...


@dataclass(frozen=True)
class Kept:
    """A frame of the last moments, and what the voice detector said of it if it was asked."""

    frame: Pcm
    sample: int
    events: list[VadEvent] | None


class Ear:
    """Takes every frame of an unmuted microphone.

    Args:
        engine: hears what attention lets through.
        host: knows about attention.
        detector: of the wake phrase, or None. It belongs to the owner.
        player: what the appliance plays.
        full_duplex: whether the frames are free of it now.
        latency_s: from the player to the ear.
        constant_vad: whether the voice detector must see every frame, since it lives in the room's front end.
    """

    def __init__(
        self,
        engine: Ears,
        host: EarHost,
        detector: WakeDetector | None,
        player: Player,
        *,
        full_duplex: Callable[[], bool],
        latency_s: Callable[[], float],
        constant_vad: bool,
    ) -> None:
        self._engine = engine
        self._host = host
        self._detector = detector
        self._full_duplex = full_duplex
        self._latency_s = latency_s
        self._constant_vad = constant_vad
        self._kept: deque[Kept] = deque(maxlen=round(REPLAY_S * CAPTURE_RATE_HZ / FRAME_SAMPLES))
        self._own = None if detector is None else OwnVoice(detector, player)
        self._pending: tuple[WakeHeard, int] | None = None
        self._unsearched: list[Pcm] = []
        self._quiet = QuietGate()
        self._lead: deque[Pcm] = deque(maxlen=LEAD)
        self._sample = 0
        self._deaf_until = 0
        self._deaf = False
        self.refused = 0

    @property
    def deaf(self) -> bool:
        """Whether the engine hears nothing because the appliance would hear itself."""
        return self._deaf

    def hear(self, frame: Pcm, sample: int) -> None:
        """One frame that ends at ``sample`` (16 kHz) of the media clock."""
        kept = self.keep(frame, sample)
        if kept is None:
            return
        woken = self._wake_phrase(frame, sample)
        self._shield()
        if woken is not None and self._host.woken(woken):
            for earlier in self._kept:
                self._engine.process(earlier.frame, earlier.sample, earlier.events)
        elif not self._deaf and self._host.hearing() is not Hearing.NOTHING:
            self._engine.process(frame, sample, kept.events)

    def talk(self, frame: Pcm, sample: int) -> None:
        """The same while the talk key is held: everything goes to the engine, nothing is searched."""
        kept = self.keep(frame, sample)
        if kept is not None:
            self._engine.process(frame, sample, kept.events)

    def keep(self, frame: Pcm, sample: int) -> Kept | None:
        """Keep a frame for a moment and do nothing else with it; None if it is not 16-bit mono, which is counted."""
        if frame.dtype != np.int16 or frame.ndim != 1:
            self._refuse(frame)
            return None
        self._sample = sample
        kept = Kept(frame, sample, self._engine.observe(frame, sample) if self._constant_vad else None)
        self._kept.append(kept)
        return kept

    def recent(self, ms: int) -> list[Pcm]:
        """The last frames, in order, about ``ms`` milliseconds of them."""
        wanted, frames = ms * CAPTURE_RATE_HZ // 1000, list[Pcm]()
        for kept in reversed(self._kept):
            if wanted <= 0:
                break
            wanted -= kept.frame.size
            frames.append(kept.frame)
        return frames[::-1]

    def forget(self) -> None:
        """What comes next does not follow what was heard (the microphone was muted)."""
        self._kept.clear()
        self._unsearched.clear()
        self._lead.clear()
        self._pending = None
        if self._detector is not None:
            self._detector.reset()

    def close(self) -> None:
        """Let go of the player; idempotent."""
        if self._own is not None:
            self._own.close()

    def _wake_phrase(self, frame: Pcm, sample: int) -> WakeHeard | None:
        """A wake phrase that was said by somebody else, once it is certain."""
        if self._detector is None or self._own is None:
            return None
        self._unsearched.append(frame)
        if len(self._unsearched) < SEARCH_FRAMES:
            return None
        stretch = np.concatenate(self._unsearched)
        self._unsearched.clear()
        self._own.listen(sample)
        hits = self._search(self._detector, stretch)
        if hits and self._pending is None:
            self._pending = (hits[0], sample)
        if self._pending is None:
            return None
        heard, since = self._pending
        if self._own.said_it(sample):
            log.info("the wake phrase was in the appliance's own voice", phrase=heard.phrase)
            self._pending = None
            return None
        if self._own.sounds(sample) and sample - since < JUDGE_S * CAPTURE_RATE_HZ:
            return None
        self._pending = None
        return heard

    def _search(self, detector: WakeDetector, stretch: Pcm) -> list[WakeHeard]:
        """The phrases in ``stretch``. In a quiet room there are none, and the detector rests."""
        if self._quiet.add(stretch):
            self._lead.append(stretch)
            return []
        if self._lead:
            stretch = np.concatenate((*self._lead, stretch))
            self._lead.clear()
        return detector.process(stretch)

    def _shield(self) -> None:
        """Keep the engine from hearing the appliance itself where nothing else does."""
        if self._full_duplex():
            deaf = False
        else:
            if self._host.agent_sounds():
                self._deaf_until = self._sample + round((TAIL_S + self._latency_s()) * CAPTURE_RATE_HZ)
            deaf = self._sample < self._deaf_until
        if deaf == self._deaf:
            return
        self._deaf = deaf
        # What the talk key has recorded, or what is complete and being recognised, was heard before and stays.
        if self._engine.settled or (deaf and self._engine.phase is not Phase.HOLDING):
            self._engine.forget()

    def _refuse(self, frame: Pcm) -> None:
        if self.refused == 0:
            log.error("a room delivers sound that is not 16-bit mono", dtype=str(frame.dtype), shape=frame.shape)
        self.refused += 1


class OwnVoice:
    """Searches what the appliance plays for its own wake phrase.

    Args:
        detector: gives the detector to search with.
        player: its ``tap`` is taken until ``close``.
    """

    def __init__(self, detector: WakeDetector, player: Player) -> None:
        self._player = player
        self._blocks: deque[Pcm] = deque(maxlen=TAP_BLOCKS)
        self._detector = detector.for_playback()
        self._resampler = StreamResampler(player.rate_hz, CAPTURE_RATE_HZ, "LQ")
        self._sounded_at: int | None = None
        self._said_at: int | None = None
        player.tap = self._blocks.append

    def listen(self, sample: int) -> None:
        """Search what was played up to ``sample`` of the media clock. Costs nothing while the player is silent."""
        while self._blocks:
            block = self._blocks.popleft()
            if block.any():
                self._sounded_at = sample
            if self._detector is None or not self.sounds(sample):
                continue
            if self._detector.process(self._resampler.push(block)):
                self._said_at = sample

    def sounds(self, sample: int) -> bool:
        """Whether something was played within the last ``SELF_WAKE_S``."""
        return self._within(self._sounded_at, sample)

    def said_it(self, sample: int) -> bool:
        """Whether the wake phrase was in what was played within the last ``SELF_WAKE_S``. Without a detector of its own
        voice: whether anything was."""
        return self.sounds(sample) if self._detector is None else self._within(self._said_at, sample)

    def close(self) -> None:
        """Give the tap back; idempotent."""
        self._player.tap = None
        if self._detector is not None:
            self._detector.close()

    @staticmethod
    def _within(at: int | None, sample: int) -> bool:
        return at is not None and sample - at <= SELF_WAKE_S * CAPTURE_RATE_HZ
