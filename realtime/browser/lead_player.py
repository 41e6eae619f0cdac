"""A player whose speaker is somewhere else: sound is sent a little ahead, and counts as played when it is heard there.

A *playhead* runs over what was sent, in real time, and what it has passed is ``played``. Reports of the listener
correct it: it waits where it was ahead, and jumps where it was behind. It never depends on them: a listener that says
nothing is believed to play in real time, and one that stands still for too long is not believed any more.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from audio.io.player import Player
from audio.pcm import Pcm, silence

LEAD_S = 0.2
"""How much sound may be with the listener and not be played yet."""

CHUNK_S = 0.02
"""Sound is sent in pieces of at least this length, except for the last of a reply."""

SHORT_CHUNK_S = 0.01
SHORT_OF_S = 0.05
"""A listener who has less than ``SHORT_OF_S`` left is sent ``SHORT_CHUNK_S`` at once: sound that is only being made
shall not wait to become a longer piece."""

START_S = 0.03
"""Time from sending to the listener's ear, until a report says more."""

PATIENCE_S = 1.5
"""How long the playhead waits for a listener who says that nothing moves."""


class Order(Enum):
    """What the listener must do at once, or know."""

    PAUSE = "pause"
    RESUME = "resume"
    CLEAR = "clear"
    END = "speech_end"


class LeadPlayer(Player):
    """See the module. ``pull`` is one step of the playhead and returns what is to be sent now (often nothing).

    Args:
        rate_hz: the listener's rate.
        on_order: called with each order, in order with what ``pull`` returns.

    Attributes:
        epoch: how often the listener was told to forget its sound; reports carry it.
        attached: whether somebody listens. While nobody does, everything stands still.
    """

    def __init__(self, rate_hz: int, on_order: Callable[[Order], None]) -> None:
        super().__init__(rate_hz)
        self.epoch = 0
        self.attached = False
        self._on_order = on_order
        self._lead = round(LEAD_S * rate_hz)
        self._chunk = round(CHUNK_S * rate_hz)
        self._short_chunk = round(SHORT_CHUNK_S * rate_hz)
        self._short_of = round(SHORT_OF_S * rate_hz)
        self._in_flight = 0
        self._position = 0
        self._wait = 0
        self._stalled = 0
        self._believed = True
        self._ending = False

    @property
    def idle(self) -> bool:
        """Whether everything was heard."""
        return self._queued == 0 and self._in_flight == 0

    @property
    def queued_s(self) -> float:
        """Seconds of sound that nobody has heard yet."""
        return (self._queued + self._in_flight) / self.rate_hz

    @property
    def in_flight(self) -> int:
        """Samples that were sent and not heard yet."""
        return self._in_flight

    @property
    def sent(self) -> int:
        """Samples that were sent since the last clear."""
        return self._position + self._in_flight

    def attach(self) -> None:
        """Somebody listens from now on. What an earlier listener had was heard."""
        self.attached = True
        self.epoch += 1
        self._position = self._wait = self._stalled = 0
        self._believed = True
        self._pass(self._in_flight)

    def detach(self) -> None:
        """Nobody listens any more."""
        self.attached = False

    def report(self, epoch: int, position: int) -> None:
        """The listener has heard ``position`` samples since the clear numbered ``epoch``."""
        if epoch != self.epoch or not self._believed:
            return
        ahead = self._position - position
        if ahead >= 0:
            self._wait = min(ahead, round(PATIENCE_S * self.rate_hz))
        else:
            self._pass(min(-ahead, self._in_flight))
            self._wait = 0

    def heard_all(self, generation: int) -> None:
        """The listener says that the reply of ``generation`` was heard to its end."""
        if generation == self._generation and self._queued == 0:
            self._pass(self._in_flight)

    def finish(self, generation: int) -> int:
        """See ``Player``; the listener is told when the last sample was sent."""
        added = super().finish(generation)
        self._ending = self._ending or generation == self._generation
        return added

    def next_generation(self) -> int:
        """See ``Player``; the listener forgets what it has not played."""
        clear = self._in_flight > 0 or self._paused
        generation = super().next_generation()
        self.cut += self._in_flight
        self._in_flight = self._wait = self._stalled = 0
        self._believed = True
        self._ending = False
        if clear:
            self.epoch += 1
            self._position = 0
            self._on_order(Order.CLEAR)
        return generation

    def pause(self, generation: int | None = None) -> bool:
        """See ``Player``; the listener keeps what it has."""
        stopped = super().pause(generation)
        if stopped:
            self._on_order(Order.PAUSE)
        return stopped

    def resume(self) -> None:
        """See ``Player``."""
        if self._paused:
            super().resume()
            self._on_order(Order.RESUME)

    def pull(self, samples: int) -> Pcm:
        """``samples`` samples of time pass. Returns the sound to send now."""
        if not self.attached or self._paused:
            return silence(0)
        self._advance(samples)
        out = self._to_send()
        if self._ending and self._queued == 0:
            self._ending = False
            self._on_order(Order.END)
        if self._sounding and self.idle:
            self._sounding = False
            if self.on_drained is not None:
                self.on_drained()
        return out

    def _advance(self, samples: int) -> None:
        if self._in_flight == 0:
            self._stalled = 0
            return
        held = min(self._wait, samples)
        self._wait -= held
        self._stalled = self._stalled + held if held == samples else 0
        if self._stalled >= PATIENCE_S * self.rate_hz:
            self._believed = False
            self._wait = 0
        self._pass(min(samples - held, self._in_flight))

    def _to_send(self) -> Pcm:
        room = self._lead - self._in_flight
        chunk = self._short_chunk if self._in_flight < self._short_of else self._chunk
        if self._queued == 0 or room < min(chunk, self._queued):
            return silence(0)
        if self._queued < chunk and not self._ending:
            return silence(0)  # more is on its way, or the end is
        out = silence(min(room, self._queued))
        if self._in_flight == 0:
            self._wait = round(START_S * self.rate_hz)
        played = self._played
        with self._lock:
            self._take(out)
        self._played = played  # sent, not played
        self._in_flight += out.size
        return out

    def _pass(self, samples: int) -> None:
        """The playhead moves over ``samples`` samples that were sent."""
        if samples <= 0:
            return
        self._in_flight -= samples
        self._played += samples
        self._position += samples
        if not self._sounding:
            self._sounding = True
            if self.on_started is not None:
                self.on_started()
