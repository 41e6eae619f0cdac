"""How fast sound goes through a realtime session, and how true its cuts are.

    python -m benchmarks.speech_to_speech

A scripted provider runs on real WebSockets of this machine and on the machine's own clock; the rotations run on virtual
time. Prints each figure beside its limit, and ends with 1 if one is missed.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agents.base import clock
from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from audio.io.player import Player
from audio.pcm import FRAME_SAMPLES, Pcm
from realtime.agent import RealtimeAgent
from realtime.link_state import SessionReplaced
from realtime.s2s.events import Interrupted
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.testing import OpenAIDialect, ScriptedPeer, Step, openai
from realtime.testing.session import PeerSession
from realtime.uplink import Uplink

FRAMES = 300
ANSWERS = 60
CUTS = 40
ROTATIONS = 200
BLOCK, BLOCK_MS = 240, 10
"""10 ms of the sink at 24 kHz, which asks for a block whenever one is played: that wait is the jitter buffer's."""


@dataclass
class Figures:
    """What was measured, in milliseconds."""

    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def add(self, name: str, milliseconds: float) -> None:
        """One measurement."""
        self.values.setdefault(name, []).append(milliseconds)


class Provider(Step):
    """Notes when sound comes, and answers when it is told to."""

    def __init__(self) -> None:
        self.arrived: list[float] = []
        self.cut_ms: list[int] = []
        self.sent: dict[str, float] = {}
        self.ready = asyncio.Event()
        self.session: PeerSession | None = None
        self._count = 0

    async def play(self, session: PeerSession) -> None:
        self.session = session
        session.dialect = _Noting(self)
        for step in openai.accept():
            await step.play(session)
        self.ready.set()
        await session.gone()

    async def answer(self, pcm: Pcm) -> None:
        """Speak."""
        assert self.session is not None
        self._count += 1
        told = openai.answer("One two three four.", pcm, f"r{self._count}", f"a{self._count}")
        # Written before the first is sent, as by a provider on another machine: this one has other things to do then.
        written = [(each["type"], self.session.dialect.encode(each)) for each in told]
        for kind, message in written:
            self.sent.setdefault(kind, clock.perf_counter())
            await self.session.channel.send(message)

    async def user_speaks(self) -> None:
        """Say that the user is heard."""
        assert self.session is not None
        told = openai.speech_started(f"u{self._count}")
        message = self.session.dialect.encode(told)
        self.sent[told["type"]] = clock.perf_counter()
        await self.session.channel.send(message)


class _Noting(OpenAIDialect):
    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self._provider = provider
        self._came_at = 0.0

    def decode(self, message: str | bytes) -> Any:
        # The peer's own checks of a message are nobody's latency.
        self._came_at = clock.perf_counter()
        return super().decode(message)

    def samples(self, told: Any) -> int:
        samples = super().samples(told)
        if samples:
            self._provider.arrived.append(self._came_at)
        elif told["type"] == "conversation.item.truncate":
            self._provider.cut_ms.append(told["audio_end_ms"])
        return samples


class _Silenced(Player):
    """Notes when what was queued is no longer played."""

    def __init__(self) -> None:
        super().__init__()
        self.silent_at = 0.0

    def next_generation(self) -> int:
        generation = super().next_generation()
        self.silent_at = clock.perf_counter()
        return generation


def warm_up() -> None:
    """Have the peer's own checks of messages built, which takes seconds and is nobody's latency."""
    dialect = OpenAIDialect()
    for told in (openai.session_created(), openai.speech_started(), *openai.answer("One.", np.ones(240, np.int16))):
        dialect.encode(told)


async def measure(figures: Figures) -> None:
    """Everything that takes real time."""
    provider = Provider()
    peer = ScriptedPeer(OpenAIDialect(), [provider], ignoring=("conversation.item.truncate", "response.cancel"))
    player = _Silenced()
    async with peer.serve() as address:
        glove = Glove(model=ScriptedModel([]), builtin_tools=False).build()
        agent = RealtimeAgent(glove, OpenAIRealtime(base_url=f"{address}/v1"), player=player)
        player.on_drained = agent.played_out
        await agent.start()
        await provider.ready.wait()
        await _uplink(agent, provider, figures)
        await _downlink(agent, provider, player, figures)
        await _cuts(agent, provider, player, figures)
        await agent.stop()


async def _uplink(agent: RealtimeAgent, provider: Provider, figures: Figures) -> None:
    """A frame of the microphone, until the provider has read all of it."""
    uplink, frame = Uplink(24_000), np.ones(FRAME_SAMPLES, np.int16)
    for _ in range(FRAMES):
        before, count = clock.perf_counter(), len(provider.arrived)
        agent.send_audio(uplink.push(frame))
        await asyncio.sleep(0.01)
        while len(provider.arrived) == count:
            await asyncio.sleep(0.001)
        figures.add("frame to provider", (provider.arrived[count] - before) * 1000)


async def _downlink(agent: RealtimeAgent, provider: Provider, player: Player, figures: Figures) -> None:
    """A sample of the provider, until the sink could have it."""
    queued: list[float] = []
    player.on_queued = lambda: queued.append(clock.perf_counter())
    for _ in range(ANSWERS):
        count = len(queued)
        provider.sent.clear()
        await provider.answer(np.ones(2400, np.int16))
        while len(queued) == count:
            await asyncio.sleep(0.001)
        figures.add("provider to sink", (queued[count] - provider.sent["response.output_audio.delta"]) * 1000)
        while not player.idle:
            player.pull(BLOCK)
        player.pull(BLOCK)
        await asyncio.sleep(0.005)


async def _cuts(agent: RealtimeAgent, provider: Provider, player: _Silenced, figures: Figures) -> None:
    """The provider's word that the user speaks, until nothing is left to play; and how true the cut is."""
    cut: list[Interrupted] = []
    agent.events.on(Interrupted, cut.append)
    for index in range(CUTS):
        await provider.answer(np.ones(48_000, np.int16))
        while player.idle:
            await asyncio.sleep(0.001)
        began = player.played_total
        for _ in range(20 + index):
            player.pull(BLOCK)
        heard_ms = (player.played_total - began) / 24
        count, truncations = len(cut), len(provider.cut_ms)
        provider.sent.clear()
        await provider.user_speaks()
        while len(cut) == count or len(provider.cut_ms) == truncations:
            await asyncio.sleep(0.001)
        assert player.idle
        told_at = provider.sent["input_audio_buffer.speech_started"]
        figures.add("interruption to silence", (player.silent_at - told_at) * 1000 + BLOCK_MS)
        figures.add("error of the cut", abs(provider.cut_ms[-1] - heard_ms))


async def rotate(figures: Figures) -> None:
    """Sessions of twenty seconds, one after the other, on virtual time."""

    class Short(Step):
        async def play(self, session: PeerSession) -> None:
            for step in openai.accept(expires_at=clock.wall().timestamp() + 20):
                await step.play(session)
            await session.gone()

    peer = ScriptedPeer(OpenAIDialect(), *[[Short()] for _ in range(ROTATIONS + 1)])
    async with peer.in_memory() as dialler:
        glove = Glove(model=ScriptedModel([]), builtin_tools=False).build()
        agent = RealtimeAgent(glove, OpenAIRealtime("sk", dialler=dialler), player=Player())
        agent.events.on(SessionReplaced, lambda event: figures.add("gap of a rotation", event.gap_s * 1000))
        await agent.start()
        while agent.link.rotations < ROTATIONS:
            await asyncio.sleep(1)
        await agent.stop()


LIMITS = {
    "frame to provider": 5.0,
    "provider to sink": 25.0,
    "interruption to silence": 40.0,
    "error of the cut": 20.0,
    "gap of a rotation": 300.0,
}


def main() -> int:
    """Measure and print."""
    figures = Figures()
    warm_up()
    asyncio.run(measure(figures))
    clock.run_virtual(rotate(figures))
    print("| | n | median | p95 | limit of p95 | of the limit |\n|---|---|---|---|---|---|")
    missed = False
    for name, limit in LIMITS.items():
        values = figures.values[name]
        p95 = float(np.percentile(values, 95))
        missed = missed or p95 > limit
        print(
            f"| {name} | {len(values)} | {np.median(values):.1f} ms | {p95:.1f} ms | {limit:g} ms | {p95 / limit:.2f} |"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
