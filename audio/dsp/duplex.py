"""Full or half duplex: what is heard of the microphone while the device speaks.

With echo cancellation everything in which there is evidence of more than echo (see ``evidence``). Where the measured
ERLE says that cancelling does not work (a loudspeaker that distorts, a device that processes sound itself) the device
speaks more softly; where that does not help, or where nothing cancels, the microphone is gated while the device sounds
and for a moment after. Health says so: a device that cannot be interrupted is better than one that talks to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from audio.dsp.echo import EchoCanceller
from audio.dsp.evidence import EchoEvidence
from audio.dsp.fallback import DUCKED_GAIN, GOOD_DB, Duplex, Fallback
from audio.dsp.levels import ErleMeter, power
from audio.pcm import FRAME_MS, Pcm, silence

EchoMode = Literal["auto", "aec", "half-duplex", "off"]
"""``auto``: cancel, and fall back when the ERLE is too low. ``aec``: cancel, whatever the ERLE.
``half-duplex``: gate. ``off``: neither (headphones)."""

TAIL_MS = 250
"""How long the gate stays closed after the last sound: the sound buffers and the room."""
REST_MS = 5000
"""After this long without sound there is no echo left, and frames pass untouched: an idle device costs nothing."""
REFRESH_FRAMES = 50
"""Cancellation begins anew at most twice per second: a machine that is much too busy moves the two all the time."""
DOUBTED_WINDOWS = 3
"""After a long silence cancellation is doubted for so many windows with echo (0.3 s)."""
LOST = 4.0
"""Where it weakens the power of echo by less than this (6 dB), it has lost its place."""
QUIET_PEAK = 32
"""Samples up to this (-60 dB) make no echo worth the name."""


class EchoPath:
    """One frame of the microphone at a time, from the sound card's to what the appliance hears.

    Args:
        mode: what to do about echo.
        canceller: takes echo away; None where there is none (``auto`` and ``aec`` then mean half duplex).

    Attributes:
        gated: frames that were not heard.
    """

    def __init__(self, mode: EchoMode, canceller: EchoCanceller | None) -> None:
        self.mode: EchoMode = mode
        self._canceller = canceller if mode in ("auto", "aec") else None
        self._meter = ErleMeter()
        self._gates = mode == "half-duplex" or (mode != "off" and canceller is None)
        self._fallback = Fallback()
        self._since_sound_ms: float = REST_MS
        self._evidence = EchoEvidence()
        self._stale = False
        self._doubts = 0
        self._since_refresh = 0
        self.gated = 0

    @property
    def erle_db(self) -> float | None:
        """The measured ERLE, or None while there is too little to judge by."""
        return self._meter.db

    @property
    def duplex(self) -> Duplex:
        """What is done about the device's own voice."""
        return Duplex.HALF if self._gates else self._fallback.state

    @property
    def gain(self) -> float:
        """How loud the device shall speak, 0…1."""
        return DUCKED_GAIN if self.duplex is Duplex.DUCKED else 1.0

    @property
    def reason(self) -> str:
        """Why the microphone is gated, or the device soft, although nobody asked for that; empty otherwise."""
        if self.duplex is Duplex.FULL or self.mode == "half-duplex":
            return ""
        if self._canceller is None:
            return "There is no echo cancellation here, so the microphone rests while the device speaks."
        poor = f"Echo cancellation does not work well enough here (ERLE {self._fallback.erle_db:.0f} dB), so the "
        soft = self.duplex is Duplex.DUCKED
        return poor + ("device speaks more softly." if soft else "microphone rests while the device speaks.")

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
        """Whether the microphone rests now."""
        return self.duplex is Duplex.HALF and self._sounds

    @property
    def _sounds(self) -> bool:
        return self._since_sound_ms <= TAIL_MS

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        """What is heard of ``frame``, while ``reference`` was played (10 ms frames at the sink's rate)."""
        self._clock(reference)
        clean, heard = self._cancel(frame, reference)
        if self.is_gated or not heard:
            self.gated += 1
            return silence(frame.size)
        return clean

    def _cancel(self, frame: Pcm, reference: Sequence[Pcm]) -> tuple[Pcm, bool]:
        """The frame without echo, and whether there is more in it than that."""
        if self._canceller is None:
            return frame, True
        if self.at_rest:
            self._meter.rest(power(frame))
            return frame, True
        self._refresh(self._canceller)
        clean = self._canceller.process(frame, reference)
        if not self._sounds:
            self._meter.rest(power(frame))
            return clean, True
        before, after = power(frame), power(clean)
        heard = self._evidence.add(before, after, self._meter.noise, max(map(power, reference), default=0.0))
        self._doubt()
        if self._meter.add(before, after):
            self._judge()
        if self.mode == "aec":
            return clean, True
        return frame if self._evidence.drowned else clean, heard or self._trusts_erle

    @property
    def _trusts_erle(self) -> bool:
        return self._evidence.undecided and (self._meter.db or 0.0) >= GOOD_DB

    def _doubt(self) -> None:
        """Whether cancellation still knows its place after a silence in which it was not fed."""
        erle = self._evidence.window_erle
        if not self._doubts or erle is None:
            return
        self._doubts -= 1
        if erle < LOST:
            self._doubts = 0
            self.slipped()

    def _refresh(self, canceller: EchoCanceller) -> None:
        self._since_refresh += 1
        if self._stale and self._since_refresh >= REFRESH_FRAMES:
            self._stale, self._since_refresh = False, 0
            canceller.reset()

    def reset(self) -> None:
        """A device was opened anew: measure again, and let cancellation learn for a while."""
        self._meter.reset()
        self._fallback.reset()
        self._evidence.reset()
        self.slipped()

    def slipped(self) -> None:
        """Reference and echo have moved against each other: let cancellation learn anew, which takes it a tenth of a
        second where finding its place again takes several."""
        self._evidence.disturbed()
        self._stale = True

    def _clock(self, reference: Sequence[Pcm]) -> None:
        if any(part.any() and _peak(part) > QUIET_PEAK for part in reference):
            if self.at_rest:
                self._doubts = DOUBTED_WINDOWS
            self._since_sound_ms = 0
        else:
            self._since_sound_ms += FRAME_MS

    def _judge(self) -> None:
        db = self._meter.db
        if self.mode == "auto" and db is not None and self._fallback.judge(db, self._meter.window_s):
            self._meter.reset()


def _peak(pcm: Pcm) -> int:
    return int(np.abs(pcm.astype(np.int32)).max()) if pcm.size else 0
