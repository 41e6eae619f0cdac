"""How the streams of a device room are connected: microphone to front end, player to speaker, and what was played to
the echo canceller's reference."""

from __future__ import annotations

from collections.abc import Callable

from audio.dsp.reference import Reference
from audio.io.backend import DeviceInfo, SoundBackend, SoundStream
from audio.io.front_end import FrontEnd
from audio.io.lane import Lane
from audio.io.player import Player
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence

SPEAKER_RESTS_S = 60.0
"""After so much silence the speaker is suspended while nobody is listened to. Not sooner: that moves reference and echo
against each other, so echo cancellation has to find its place again, and until then nobody can interrupt."""


class Wiring:
    """The ``Plumbing`` of a supervisor (see ``audio.io.supervisor``) for one opening of a room.

    Args:
        backend: the sound system.
        front: takes what is captured.
        player: gives what is played.
        reference: is told what was played.
        now: monotonic seconds; called from several threads.
        latency_s: sound kept ready in each of the two sound buffers.
        listens: whether somebody is listened to at present.
    """

    def __init__(
        self,
        backend: SoundBackend,
        front: FrontEnd,
        player: Player,
        reference: Reference,
        now: Callable[[], float],
        latency_s: float,
        listens: Callable[[], bool],
    ) -> None:
        self._backend = backend
        self._front = front
        self._player = player
        self._reference = reference
        self._now = now
        self._latency_s = latency_s
        self._listens = listens

    def connect(self, lane: Lane, ticket: int, device: DeviceInfo) -> SoundStream:
        """See ``audio.io.supervisor.Plumbing``."""
        if lane.direction == "input":
            return self._connect_input(lane, ticket, device)
        return self._connect_output(lane, ticket, device)

    def _connect_input(self, lane: Lane, ticket: int, device: DeviceInfo) -> SoundStream:
        front, reference = self._front, self._reference
        rate: list[int] = []
        early: list[Pcm] = []

        def on_input(pcm: Pcm, gap: bool) -> None:
            if not lane.called(ticket, pcm, gap):
                return
            if gap:
                reference.capture_gap()
            if not rate:  # the stream calls before it is known at which rate it runs
                early.append(pcm)
                return
            while early:
                front.captured(early.pop(0), rate[0])
            front.captured(pcm, rate[0])

        stream = self._backend.open_input(
            device, CAPTURE_RATE_HZ, self._latency_s, on_input, lambda: lane.ended(ticket)
        )
        rate.append(stream.rate_hz)
        return stream

    def _connect_output(self, lane: Lane, ticket: int, device: DeviceInfo) -> SoundStream:
        player, reference, now = self._player, self._reference, self._now
        reference.restart()

        def on_output(samples: int, gap: bool) -> Pcm:
            if not lane.called(ticket, None, gap):
                return silence(samples)
            if gap:
                reference.gap()
            pcm = player.pull(samples)
            reference.played(pcm)
            reference.drift.played(samples, now())
            return pcm

        return self._backend.open_output(device, player.rate_hz, self._latency_s, on_output, lambda: lane.ended(ticket))

    def opened(self, lane: Lane) -> None:
        """See ``audio.io.supervisor.Plumbing``."""
        if lane.opened > 1:
            self._reference.drift.interrupted()
            self._front.command(self._front.echo.reset)

    def may_rest(self, lane: Lane) -> bool:
        """See ``audio.io.supervisor.Plumbing``: the speaker, once nobody has had the appliance's attention for long."""
        if lane.direction == "input" or self._listens():
            return False
        return self._player.idle and not self._player.sounding and self._front.echo.silent_s >= SPEAKER_RESTS_S

    def interrupted(self, lane: Lane) -> None:
        """See ``audio.io.supervisor.Plumbing``."""
        self._reference.restart()
        self._front.command(self._front.echo.slipped)

    def sounding(self) -> bool:
        """See ``audio.io.supervisor.Plumbing``."""
        return self._player.sounding
