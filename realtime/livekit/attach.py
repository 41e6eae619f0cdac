"""Connect who speaks with a room: a realtime agent or the cascade, and a face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Protocol

from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import StreamResampler
from audio.voice import GloveVoice
from realtime.agent import RealtimeAgent
from realtime.livekit.events import ChatReceived, TransportConnected, TransportEvent
from realtime.livekit.follow import Follower
from realtime.livekit.pump import MixPump
from realtime.livekit.transport import LiveKitTransport
from realtime.s2s.events import AgentAudio, AgentSpeechStopped, Interrupted

if TYPE_CHECKING:
    from livekit import rtc

Detach = Callable[[], None]
"""Undoes what was connected, and nothing else; idempotent."""


def attach_realtime(
    agent: RealtimeAgent | GloveVoice, transport: LiveKitTransport, *, agent_audio: bool = True
) -> Detach:
    """Let ``agent`` hear and speak in the room of ``transport``.

    A ``RealtimeAgent`` gets the room's microphones, and its speech goes into the track. Build it with
    ``player=transport.player`` so that it knows what was heard; without a player its sound is passed on as it comes. An
    interruption silences the room, whoever plays.

    A ``GloveVoice`` lives in a ``LiveKitRoom`` and has its sound already: it gets typed lines and commands, and the
    room is shown what is said.

    Args:
        agent: who speaks.
        transport: of the room, joined or not.
        agent_audio: whether the agent's sound goes into the room; not where a face carries its voice.
    """
    return _attach(agent, transport, agent_audio)


@singledispatch
def _attach(agent: object, transport: LiveKitTransport, agent_audio: bool) -> Detach:
    raise TypeError(f"{type(agent).__name__} cannot speak in a room")


@_attach.register
def _(agent: RealtimeAgent, transport: LiveKitTransport, agent_audio: bool) -> Detach:
    ears = _Ears(agent)
    if agent.player is transport.player:
        transport.player.on_drained = agent.played_out
    passes_on = agent_audio and agent.player is not transport.player
    off = [
        agent.events.on(Interrupted, lambda _: transport.clear()),
        transport.events.on(ChatReceived, lambda event: agent.say(event.text)),
    ]
    if passes_on:
        off.append(agent.events.on(AgentAudio, lambda event: transport.send_audio(event.pcm, event.rate_hz)))
        off.append(agent.events.on(AgentSpeechStopped, lambda _: transport.end_audio()))
    pumping = asyncio.get_running_loop().create_task(MixPump(transport.mix).run(ears.hear), name="livekit microphones")

    def detach() -> None:
        pumping.cancel()
        if transport.player.on_drained == agent.played_out:
            transport.player.on_drained = None
        while off:
            off.pop()()

    return detach


@_attach.register
def _(voice: GloveVoice, transport: LiveKitTransport, agent_audio: bool) -> Detach:
    return Follower(voice, transport).close


class _Ears:
    """Brings 16 kHz to the rate of whichever session is in force."""

    def __init__(self, agent: RealtimeAgent) -> None:
        self._agent = agent
        self._resampler: StreamResampler | None = None

    def hear(self, pcm: Pcm, _: int) -> None:
        wanted_hz = self._agent.adapter.input_format.rate_hz
        if self._resampler is None or self._resampler.out_rate_hz != wanted_hz:
            self._resampler = StreamResampler(CAPTURE_RATE_HZ, wanted_hz, "LQ")
        sound = self._resampler.push(pcm)
        if sound.size:
            self._agent.send_audio(sound)


class FollowsRoom(Protocol):
    """Something that works in a room of the SDK, such as the wire to a face."""

    def joined(self, room: rtc.Room) -> None:
        """The agent is in ``room``, for the first time or again."""
        ...

    def left(self) -> None:
        """The room is lost, or the agent has left it; idempotent."""
        ...


def carry(wire: FollowsRoom, transport: LiveKitTransport) -> Detach:
    """Tell ``wire`` which room the agent is in, from now on."""

    def follow(event: TransportEvent) -> None:
        room = transport.sdk_room
        if isinstance(event, TransportConnected) and room is not None:
            wire.joined(room)
        elif room is None:
            wire.left()

    off = transport.events.on(TransportEvent, follow)
    if (room := transport.sdk_room) is not None:
        wire.joined(room)
    return off
