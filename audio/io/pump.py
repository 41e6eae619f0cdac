"""Rooms made of files and pipes: one pump moves 10 ms at a time, from a source to the session and from the player to a
sink.

Tick *k* plays the sound of the interval [k, k+1) · 10 ms, writes it beside the user's frame of the same interval, and
then hands over the user's frame of the interval before, since a frame exists only when it is over. Both tracks share
the tick, so they are sample-aligned on one clock. On a virtual loop the same pump runs as fast as the machine allows.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.io.base import AudioIO, OnFrame
from audio.io.player import Player
from audio.pcm import FRAME_MS, FRAME_SAMPLES, Pcm, silence

log = structlog.get_logger(__name__)

TICK_S = FRAME_MS / 1000


class Source(Protocol):
    """Where the user's voice comes from."""

    def frame(self) -> Pcm | None:
        """The next 10 ms at 16 kHz (160 samples), or None when there is nothing more."""
        ...

    def close(self) -> None:
        """Release; idempotent."""
        ...


class Sink(Protocol):
    """Where the sound goes."""

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """10 ms of both sides: the agent's at the player's rate, the user's at 16 kHz (None where there is no input).

        Raises ``GloveError`` when they cannot be kept.
        """
        ...

    def close(self) -> None:
        """Finish; idempotent."""
        ...


class PumpRoom(AudioIO):
    """A room that is pumped from a ``Source`` to a ``Sink``.

    While ``input_open`` is False the source is not read and the session hears silence. ``input_ended`` is set when the
    source has nothing more, or the room has ``failed``.

    Args:
        source: the user.
        sink: what keeps the agent's sound.
        rate_hz: the sink's rate.
        received: whether the source's frames were over before they were asked for, having come from elsewhere: they are
            handed over at once then, not when their tick is over.
    """

    def __init__(self, source: Source, sink: Sink, rate_hz: int = 24_000, *, received: bool = False) -> None:
        self.player = Player(rate_hz)
        self.input_ended = asyncio.Event()
        self.input_open = True
        self.failed: GloveError | None = None
        self._source = source
        self._sink = sink
        self._received = received
        self._scope = Scope("room", on_fault=self._on_fault)
        self._ticks = 0
        self._started_at = 0.0

    @property
    def time_s(self) -> float:
        """Seconds since the room opened, never ahead of the tick in progress."""
        if self._ticks == 0:
            return 0.0
        elapsed = clock.now() - self._started_at
        return min(max(elapsed, (self._ticks - 1) * TICK_S), self._ticks * TICK_S)

    async def open(self, on_frame: OnFrame) -> None:
        """See ``AudioIO``."""
        self._started_at = clock.now()
        self._scope = Scope("room", on_fault=self._on_fault)
        self._scope.spawn(self._pump(on_frame), "pump")

    async def close(self) -> None:
        """See ``AudioIO``."""
        await self._scope.close()
        self._source.close()
        self._sink.close()

    async def _pump(self, on_frame: OnFrame) -> None:
        samples = self.player.rate_hz * FRAME_MS // 1000
        captured: Pcm | None = None
        while True:
            self._ticks += 1
            if self._received:
                self._hand_over(on_frame, self._next_frame(), self._ticks)
                self._sink.write(self.player.pull(samples), None)
            else:
                played, user = self.player.pull(samples), self._next_frame()
                self._sink.write(played, user)
                if self._ticks > 1:
                    self._hand_over(on_frame, captured, self._ticks - 1)
                captured = user
            await clock.sleep_until(self._started_at + self._ticks * TICK_S)

    def _hand_over(self, on_frame: OnFrame, frame: Pcm | None, tick: int) -> None:
        on_frame(silence(FRAME_SAMPLES) if frame is None else frame, tick * FRAME_SAMPLES)

    def _next_frame(self) -> Pcm | None:
        if not self.input_open or self.input_ended.is_set():
            return None
        frame = self._source.frame()
        if frame is None:
            self.input_ended.set()
        return frame

    def _on_fault(self, child: str, fault: BaseException) -> None:
        if isinstance(fault, GloveError):
            self.failed = fault
        else:
            self.failed = GloveError("ERR_ROOM", f"The room failed: {fault}", cause=fault)
        self.input_ended.set()


class SilentSource:
    """A user who says nothing for ``seconds`` (None: for ever)."""

    def __init__(self, seconds: float | None = None) -> None:
        self._left = None if seconds is None else round(seconds / TICK_S)

    def frame(self) -> Pcm | None:
        """See ``Source``."""
        if self._left is not None:
            if self._left == 0:
                return None
            self._left -= 1
        return silence(FRAME_SAMPLES)

    def close(self) -> None:
        """See ``Source``."""


class NullSink:
    """Keeps nothing."""

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """See ``Sink``."""

    def close(self) -> None:
        """See ``Sink``."""
