"""The sound of a browser room: PCM frames from a caller and to a caller, who may come and go while the room lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from audio.io.base import OnFrame, RoomHealth
from audio.io.pump import PumpRoom
from audio.pcm import ByteJoiner, Pcm, wire_bytes
from realtime.browser.jitter import JitterBuffer
from realtime.browser.lead_player import LeadPlayer, Order
from realtime.browser.protocol import RATE_HZ

LISTEN_ON_FRAMES = 500
"""A session hears silence for this long (5 s) after a microphone was closed, so that whatever was said is over; then
it hears nothing until the microphone is opened again, and its voice detector rests."""


class Listener(Protocol):
    """The caller's end, as far as sound goes. Calls are synchronous and never wait."""

    def sound(self, data: bytes) -> None:
        """Play s16le at 16 kHz."""
        ...

    def order(self, order: Order) -> None:
        """Pause, go on, forget, or know that the reply is complete."""
        ...


class PcmRoom(PumpRoom):
    """A room whose microphone and speaker are at the other end of a socket.

    The pump of ``PumpRoom`` keeps time: every 10 ms it reads the jitter buffer and sends what the ``LeadPlayer`` wants
    to be with the caller. Without a caller the session hears silence and playback stands still.

    Attributes:
        on_closed: called when the session closes the room.
        speaker_works: what the caller says about the speaker.
    """

    def __init__(self) -> None:
        self.on_closed: Callable[[], None] = lambda: None
        self.speaker_works = True
        self.microphone = JitterBuffer()
        self._listener: Listener | None = None
        super().__init__(self.microphone, _Sender(self), RATE_HZ, received=True)
        self.speaker = LeadPlayer(RATE_HZ, self._order)
        self.player = self.speaker

    @property
    def attached(self) -> bool:
        """Whether a caller is there."""
        return self._listener is not None

    @property
    def health(self) -> RoomHealth:
        """Down while nobody is connected; ``speaker`` is 1 where sound is heard."""
        values = {
            "speaker": float(self.attached and self.speaker_works),
            "gaps": float(self.microphone.gaps),
            "dropped": float(self.microphone.dropped),
        }
        if self._listener is None:
            return RoomHealth("down", "Nobody is connected to the page.", values)
        if self.failed is not None:
            return RoomHealth("down", self.failed.message, values)
        if not self.speaker_works:
            return RoomHealth("degraded", "The page was not touched yet, so the browser keeps it silent.", values)
        return RoomHealth("ok", "", values)

    def attach(self, listener: Listener) -> int:
        """Give the room a caller, instead of the one before. Returns the epoch of its playback reports."""
        self.microphone.forget()
        self._listener = listener
        self.speaker_works = True
        self.speaker.attach()
        return self.speaker.epoch

    def detach(self, listener: Listener) -> None:
        """The caller has gone; nothing happens if another has taken its place."""
        if self._listener is listener:
            self._listener = None
            self.speaker.detach()
            self.microphone.forget()

    def hear(self, data: bytes) -> None:
        """Take sound of the caller: s16le at 16 kHz, a whole number of samples."""
        self.microphone.push(ByteJoiner().push(data))

    async def close(self) -> None:
        """See ``AudioIO``."""
        await super().close()
        self.on_closed()

    async def open(self, on_frame: OnFrame) -> None:
        """See ``AudioIO``."""

        def hand_over(frame: Pcm, sample: int) -> None:
            if self.microphone.silent_frames <= LISTEN_ON_FRAMES:
                on_frame(frame, sample)

        await super().open(hand_over)

    def send(self, pcm: Pcm) -> None:
        """Bring sound to the caller, if there is one."""
        if self._listener is not None and pcm.size:
            self._listener.sound(wire_bytes(pcm))

    def _order(self, order: Order) -> None:
        if self._listener is not None:
            self._listener.order(order)


class _Sender:
    """The pump's sink."""

    def __init__(self, room: PcmRoom) -> None:
        self._room = room

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """See ``audio.io.pump.Sink``; ``played`` is what is to be sent now, of any length."""
        self._room.send(played)

    def close(self) -> None:
        """See ``audio.io.pump.Sink``."""
