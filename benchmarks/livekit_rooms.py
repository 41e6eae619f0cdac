"""What a LiveKit room costs, beside LiveKit's own SDK without us in the same run.

    python -m benchmarks.livekit_rooms [--bursts 30] [--seconds 15] [delay clear cpu]

A peer in a process of its own says when it hears what. *delay*: from handing sound over to the peer's ear, through
``LiveKitTransport`` and through a bare ``AudioSource``, one after the other, burst by burst. *clear*: from ``clear()``,
with seconds of sound waiting, to silence at the peer. *cpu*: processor time of this process while a peer speaks and is
played back to, once through a ``LiveKitRoom`` that hears 10 ms frames and enqueues them, once by the SDK alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median, quantiles

import numpy as np
import psutil
from livekit import rtc

from agents.base import clock
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from realtime.livekit.room import LiveKitRoom
from realtime.livekit.tokens import LiveKitAccess, mint_participant_token
from realtime.livekit.transport import LiveKitTransport
from tests.peers.livekit_peer import tone
from tests.peers.livekit_server import livekit_server

DELAY_LIMIT = 1.1
CLEAR_LIMIT_MS = 150.0
CPU_LIMIT = 1.2
RATE_HZ = 24_000
BURST_S = 0.2
SETTLE_S = 2.0


class Ear:
    """The peer's reports."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.told: list[tuple[float, str]] = []
        self._reading = asyncio.ensure_future(self._read())

    async def next(self, what: str, after: float, limit_s: float = 20.0) -> float:
        """When ``what`` first was after ``after``."""
        async with asyncio.timeout(limit_s):
            while True:
                for at, told in self.told:
                    if told == what and at > after:
                        return at
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            entry = json.loads(line)
            self.told.append((entry["at"], entry["what"]))


@asynccontextmanager
async def peer(access: LiveKitAccess, room: str, what: str) -> AsyncIterator[Ear]:
    """Another participant."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-m", "benchmarks.livekit_peer", what),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    token = mint_participant_token(access, room=room, identity="peer").reveal()
    process.stdin.write((json.dumps({"url": access.socket_url, "token": token}) + "\n").encode())
    ear = Ear(process)
    try:
        await ear.next("joined", -1.0)
        yield ear
    finally:
        await ear.close()


@asynccontextmanager
async def agent(access: LiveKitAccess, room: str) -> AsyncIterator[LiveKitTransport]:
    """The product in a room."""
    token = mint_participant_token(access, room=room, identity="agent", kind="agent")
    transport = LiveKitTransport(access.socket_url, token)
    await transport.connect()
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def publisher(access: LiveKitAccess, room: str) -> AsyncIterator[tuple[rtc.Room, rtc.AudioSource]]:
    """The SDK alone in a room, with the source as it is by default."""
    bare = rtc.Room()
    await bare.connect(access.socket_url, mint_participant_token(access, room=room, identity="bare").reveal())
    source = rtc.AudioSource(RATE_HZ, 1)
    track = rtc.LocalAudioTrack.create_audio_track("bare", source)
    options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
    await bare.local_participant.publish_track(track, options)
    try:
        yield bare, source
    finally:
        await bare.disconnect()


async def delays_ms(access: LiveKitAccess, bursts: int) -> tuple[list[float], list[float]]:
    """From handing a burst over to its arrival: through the transport, and through the SDK alone."""
    burst = tone(BURST_S, rate_hz=RATE_HZ)
    ours: list[float] = []
    bare: list[float] = []
    first, second = secrets.token_hex(4), secrets.token_hex(4)
    async with (
        peer(access, first, "listen") as ear,
        agent(access, first) as transport,
        peer(access, second, "listen") as other_ear,
        publisher(access, second) as (_, source),
    ):
        await asyncio.sleep(SETTLE_S)
        for _ in range(bursts):
            began = clock.now()
            transport.send_audio(burst, RATE_HZ)
            transport.end_audio()
            ours.append(1000 * (await ear.next("loud", began) - began))
            await asyncio.sleep(0.5)
            began = clock.now()
            for start in range(0, burst.size, RATE_HZ // 50):
                piece = burst[start : start + RATE_HZ // 50]
                await source.capture_frame(rtc.AudioFrame(piece.tobytes(), RATE_HZ, 1, piece.size))
            bare.append(1000 * (await other_ear.next("loud", began) - began))
            await asyncio.sleep(0.5)
    return ours, bare


async def clears_ms(access: LiveKitAccess, times: int) -> list[float]:
    """From ``clear()`` to the last sound at the peer."""
    room = secrets.token_hex(4)
    taken: list[float] = []
    async with peer(access, room, "listen") as ear, agent(access, room) as transport:
        await asyncio.sleep(SETTLE_S)
        for _ in range(times):
            began = clock.now()
            transport.send_audio(tone(10.0, rate_hz=RATE_HZ), RATE_HZ)
            await ear.next("loud", began)
            await asyncio.sleep(0.5)
            cleared = clock.now()
            transport.clear()
            # the last loud 10 ms may have come before
            taken.append(max(0.0, 1000 * (await ear.next("quiet", began) - cleared)))
            await asyncio.sleep(0.3)
    return taken


async def _share(seconds: float) -> float:
    await asyncio.sleep(SETTLE_S)
    process = psutil.Process()
    before, began = sum(process.cpu_times()[:2]), clock.now()
    await asyncio.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / (clock.now() - began)


async def cpu_of_room(access: LiveKitAccess, seconds: float) -> float:
    """Share of a core of a room that plays back what it hears."""
    name = secrets.token_hex(4)
    async with peer(access, name, "speak"), agent(access, name) as transport:
        room = LiveKitRoom(transport)

        def back(pcm: Pcm, _: int) -> None:
            transport.send_audio(pcm, CAPTURE_RATE_HZ)

        await room.open(back)
        share = await _share(seconds)
        await room.close()
        return share


async def cpu_of_echo(access: LiveKitAccess, seconds: float) -> float:
    """Share of a core of the SDK alone that plays back what it hears, as its own example does."""
    name = secrets.token_hex(4)
    tasks: list[asyncio.Task[None]] = []
    async with publisher(access, name) as (bare, source):

        async def back(track: rtc.Track) -> None:
            async for event in rtc.AudioStream.from_track(track=track, sample_rate=RATE_HZ, num_channels=1):
                await source.capture_frame(event.frame)

        bare.on("track_subscribed", lambda track, *_: tasks.append(asyncio.ensure_future(back(track))))
        async with peer(access, name, "speak"):
            share = await _share(seconds)
        for task in tasks:
            task.cancel()
        return share


async def main() -> int:
    """Print the figures; returns 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["delay", "clear", "cpu"])
    parser.add_argument("--bursts", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    kept = True
    with livekit_server() as server:
        access = server.access
        if "delay" in options.parts:
            ours, bare = await delays_ms(access, options.bursts)
            ratio = median(ours) / median(bare)
            kept = kept and ratio <= DELAY_LIMIT
            print(f"delay {median(ours):.0f} ms, SDK alone {median(bare):.0f} ms p50: {ratio:.2f} x ({DELAY_LIMIT})")
        if "clear" in options.parts:
            taken = await clears_ms(access, options.bursts)
            p95 = quantiles(taken, n=20)[-1]
            kept = kept and p95 <= CLEAR_LIMIT_MS
            print(f"clear to silence {median(taken):.0f} ms p50, {p95:.0f} ms p95 ({CLEAR_LIMIT_MS:.0f})")
        if "cpu" in options.parts:
            pairs = [
                (await cpu_of_room(access, options.seconds), await cpu_of_echo(access, options.seconds))
                for _ in range(2)
            ]
            room, echo = (float(np.mean(side)) for side in zip(*pairs, strict=True))
            kept = kept and room <= CPU_LIMIT * echo
            print(f"room {100 * room:.1f} %, SDK echo {100 * echo:.1f} % of a core: {room / echo:.2f} x ({CPU_LIMIT})")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
