"""Full or half duplex: whether the microphone may be heard while the device speaks.

With echo cancellation that works, always. Where the measured ERLE says that it does not (a loudspeaker that distorts, a
device that processes sound itself), or where there is none, the microphone is gated while the device sounds and for a
moment after, and health says so: a device that cannot be interrupted is better than one that talks to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

import numpy as np

from audio.dsp.echo import EchoCanceller
from audio.dsp.levels import ErleMeter, power
from audio.dsp.proof import CancellationProof
from audio.pcm import FRAME_MS, Pcm, silence

EchoMode = Literal["auto", "aec", "half-duplex", "off"]
"""``auto``: cancel, and fall back to half duplex when the ERLE is too low. ``aec``: cancel, whatever the ERLE.
``half-duplex``: gate. ``off``: neither (headphones)."""

POOR_DB = 10.0
"""ERLE below which the microphone is gated."""
GOOD_DB = 15.0
"""ERLE from which it is heard again."""
TAIL_MS = 250
"""How long the gate stays closed after the last sound: the sound buffers and the room."""
REST_MS = 5000
"""After this long without sound there is no echo left, and frames pass untouched: an idle device costs nothing."""
REFRESH_FRAMES = 50
"""Cancellation begins anew at most twice per second: a machine that is much too busy moves the two all the time."""
QUIET_PEAK = 32
"""Samples up to this (-60 dB) make no echo worth the name."""


class Duplex(Enum):
    """What is done about the device's own voice."""

    FULL = "full"
    HALF = "half"


class EchoPath:
    """One frame of the microphone at a time, from the sound card's to what the appliance hears.

    Args:
        mode: what to do about echo.
        canceller: takes echo away; None where there is none (``auto`` and ``aec`` then mean half duplex).
    """

    def __init__(self, mode: EchoMode, canceller: EchoCanceller | None) -> None:
        self.mode: EchoMode = mode
        self._canceller = canceller if mode in ("auto", "aec") else None
        self._meter = ErleMeter()
        gates = mode == "half-duplex" or (mode != "off" and canceller is None)
        self.duplex = Duplex.HALF if gates else Duplex.FULL
        self._since_sound_ms: float = REST_MS
        self._proof = CancellationProof()
        self._stale = False
        self._since_refresh = 0
        self.gated = 0

    @property
    def erle_db(self) -> float | None:
        """The measured ERLE, or None while there is too little to judge by."""
        return self._meter.db

    @property
    def reason(self) -> str:
        """Why the microphone is gated although nobody asked for that; empty otherwise."""
        if self.duplex is Duplex.FULL or self.mode == "half-duplex":
            return ""
        if self._canceller is None:
            return "There is no echo cancellation here, so the microphone rests while the device speaks."
        return "Echo cancellation does not work well enough here, so the microphone rests while the device speaks."

    @property
    def at_rest(self) -> bool:
        """Whether nothing has sounded for so long that frames pass untouched."""
        return self._since_sound_ms >= REST_MS

    @property
    def silent_s(self) -> float:
        """Seconds since something sounded."""
        return self._since_sound_ms / 1000

    @property
    def is_gated(self) -> bool:
        """Whether the microphone is not heard now."""
        learns = self.mode == "auto" and not self._proof.given
        return (self.duplex is Duplex.HALF or learns) and self._since_sound_ms <= TAIL_MS

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        """What is heard of ``frame``, while ``reference`` was played (10 ms frames at the sink's rate)."""
        self._clock(reference)
        clean = self._cancel(frame, reference)
        if self.is_gated:
            self.gated += 1
            return silence(frame.size)
        return clean

    def _cancel(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        if self._canceller is None:
            return frame
        if self.at_rest:
            self._meter.rest(power(frame))
            return frame
        self._refresh(self._canceller)
        clean = self._canceller.process(frame, reference)
        if self._since_sound_ms <= TAIL_MS:
            before, after = power(frame), power(clean)
            if not self._proof.given:
                self._proof.add(before, after, self._meter.noise, max(map(power, reference), default=0.0))
            self._meter.add(before, after)
            self._judge()
        else:
            self._meter.rest(power(frame))
        return clean

    def _refresh(self, canceller: EchoCanceller) -> None:
        self._since_refresh += 1
        if self._stale and self._since_refresh >= REFRESH_FRAMES:
            self._stale, self._since_refresh = False, 0
            canceller.reset()

    def reset(self) -> None:
        """A device was opened anew: measure again, and let cancellation learn for a while."""
        self._meter.reset()
        self.slipped()
        if self._canceller is not None:
            self.duplex = Duplex.FULL

    def slipped(self) -> None:
        """Reference and echo have moved against each other: let cancellation learn anew, which takes it a tenth of a
        second where finding its place again takes several."""
        self._proof.demand()
        self._stale = True

    def _clock(self, reference: Sequence[Pcm]) -> None:
        if any(part.any() and _peak(part) > QUIET_PEAK for part in reference):
            # What cancellation missed at rest would cost it more than to begin anew.
            self._stale = self._stale or self.at_rest
            self._since_sound_ms = 0
        else:
            self._since_sound_ms += FRAME_MS

    def _judge(self) -> None:
        db = self._meter.db
        if self.mode != "auto" or db is None:
            return
        if db < POOR_DB:
            self.duplex = Duplex.HALF
        elif db >= GOOD_DB:
            self.duplex = Duplex.FULL


def _peak(pcm: Pcm) -> int:
    return int(np.abs(pcm.astype(np.int32)).max()) if pcm.size else 0
