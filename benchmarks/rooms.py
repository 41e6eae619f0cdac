"""What a browser room costs: delay from the microphone in the page to its speaker, processor time in silence, growth.

    python -m benchmarks.rooms [--seconds 20] [--joins 300] [delay cpu joins]

The delay is measured in Chromium against a room that plays back what it hears (a session of this benchmark, not of the
product): bursts in the microphone are timed there and in what the page plays. The processor time is that of this
process alone, with a caller in another one who sends silence: once a room with voice detection answers it, once aiortc
alone, which sends back what it receives. At last callers come and go; memory, threads, tasks and sockets are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import psutil
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from appliance.web.api import make_app, serve
from appliance.web.auth import new_token
from audio.io.base import AudioIO
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.vad.base import VadAdapter
from benchmarks.rooms_page import TAPS, delays_ms
from realtime.browser.webrtc import WebRtcCalls
from tests.peers.browser import chromium, microphone
from tests.peers.rtc_peer import RtcCaller
from tests.realtime.peer import House, PageSession, until
from tests.realtime.server import place

LIMITS_MS = {"webrtc": 200.0, "websocket": 80.0}
CPU_LIMIT = 1.2
"""Of a silent room, as a multiple of the bare echo peer."""

GROWTH_LIMIT_MB = 10.0
MOST_MORE = 4
"""Threads, tasks and sockets that may be there after the last caller and were not after the first ones: those of one
session that waits, and of the pool for host names."""

SETTLE_S = 3.0
REPLY_ENDS_FRAMES = 20
"""Frames of silence (0.2 s) after which the reply that plays back is over."""


class EchoSession(PageSession):
    """Plays back what it hears, without a thought: each burst is a reply of its own."""

    def __init__(self, room: AudioIO, house: House) -> None:
        super().__init__(room, house.agent, house.living)
        self._quiet_frames = REPLY_ENDS_FRAMES

    async def start(self) -> None:
        await self.mind.timers.start()
        await self.room.open(self._back)

    async def close(self) -> None:
        await self.room.close()
        await super().close()

    def _back(self, frame: Pcm, sample: int) -> None:
        player = self.room.player
        self._quiet_frames = 0 if np.abs(frame).max() > 500 else self._quiet_frames + 1
        if self._quiet_frames < REPLY_ENDS_FRAMES:
            player.enqueue(frame, CAPTURE_RATE_HZ, player.generation)
        elif self._quiet_frames == REPLY_ENDS_FRAMES:
            player.finish(player.generation)


class SilentSession(PageSession):
    """Looks for a voice in what it hears."""

    def __init__(self, room: AudioIO, house: House, vad: VadAdapter) -> None:
        super().__init__(room, house.agent, house.living)
        self._detector = vad

    async def start(self) -> None:
        await self.mind.timers.start()
        await self.room.open(self._look)

    async def close(self) -> None:
        await self.room.close()
        await super().close()

    def _look(self, frame: Pcm, sample: int) -> None:
        self._detector.process(frame)


def bursts(seconds: float, rate_hz: int = 48_000) -> Pcm:
    """A burst of 0.1 s like a voice every 1.1 s."""
    time_s = np.arange(round(0.1 * rate_hz)) / rate_hz
    voiced = sum(np.sin(2 * np.pi * 150 * n * time_s) / n for n in range(1, 20))
    one = np.zeros(round(1.1 * rate_hz), np.int16)
    one[: time_s.size] = (9000 * voiced / np.abs(voiced).max()).astype(np.int16)
    return np.tile(one, round(seconds / 1.1) + 1)


async def delay(via: str, seconds: float) -> list[float]:
    """Delays of ``seconds`` of bursts, in milliseconds."""
    house, token = House([]), new_token()

    async def open_session(room: AudioIO) -> PageSession:
        return EchoSession(room, house)

    server = await serve(make_app(open_session, token), port=0)
    try:
        with tempfile.TemporaryDirectory() as folder:
            heard = microphone(Path(folder) / "bursts.wav", bursts(seconds + 30), 48_000)
            with chromium(Path(folder) / "profile", heard) as browser:
                async with browser.page(bypass_csp=True) as page:
                    await page.add_init_script(TAPS)
                    await page.goto(server.address(token).replace("/#", f"/?via={via}#"))
                    await page.wait_for_selector(f"body[data-mode=idle][data-via={via}]")
                    await page.press("#talk", "Enter")  # a click that a slow page cannot take for a long one
                    await asyncio.sleep(SETTLE_S + seconds)
                    return delays_ms(await page.evaluate("taps.onsets"))[2:]
    finally:
        await server.close()


async def with_caller(answer: Callable[[str], Awaitable[str]], seconds: float) -> float:
    """The share of one core that this process takes while a caller is silent for ``seconds``."""
    caller = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.rooms_caller"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert caller.stdin is not None and caller.stdout is not None
    caller.stdin.write((json.dumps(await answer(json.loads(await caller.stdout.readline()))) + "\n").encode())
    await caller.stdin.drain()
    await asyncio.sleep(SETTLE_S)
    process = psutil.Process()
    before = sum(process.cpu_times()[:2])
    await asyncio.sleep(seconds)
    share = (sum(process.cpu_times()[:2]) - before) / seconds
    caller.stdin.close()
    await caller.wait()
    return share


async def bare(seconds: float) -> float:
    """aiortc alone, as its own example of a server: what comes is decoded, encoded and sent back."""
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    connection.on("track", connection.addTrack)

    async def answer(offer: str) -> str:
        await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
        return connection.localDescription.sdp

    try:
        return await with_caller(answer, seconds)
    finally:
        await connection.close()


@asynccontextmanager
async def rooms() -> AsyncIterator[tuple[House, WebRtcCalls]]:
    """A room whose session looks for a voice."""
    from audio.vad.silero import SileroVad

    house, calls = House([]), WebRtcCalls(offers_per_s=100.0)

    async def open_session(room: AudioIO) -> PageSession:
        return SilentSession(room, house, SileroVad())

    house.room._open_session = open_session
    async with house:
        try:
            yield house, calls
        finally:
            await calls.close()


async def silent(seconds: float) -> float:
    """A room of the product."""
    async with rooms() as (house, calls):
        return await with_caller(lambda offer: calls.answer(offer, house.room.serve, "127.0.0.1"), seconds)


Visit = Callable[[], Awaitable[None]]
"""One caller comes, is greeted, and goes."""


async def joins(visit: Visit, count: int) -> dict[str, float]:
    """What has grown after ``count`` callers came and went, beyond the first tenth of them."""
    process = psutil.Process()

    def now() -> dict[str, float]:
        gc.collect()
        return {
            "MB": process.memory_info().rss / 1e6,
            "threads": threading.active_count(),
            "tasks": len(asyncio.all_tasks()),
            "files": process.num_fds(),
        }

    before: dict[str, float] = {}
    for number in range(count):
        if number == count // 10:
            before = now()
        await visit()
    return {name: value - before[name] for name, value in now().items()}


async def call_joins(count: int) -> dict[str, float]:
    """``joins`` over WebRTC."""
    async with rooms() as (house, calls):

        async def visit() -> None:
            caller = await RtcCaller().call(calls, house)
            await caller.next("ready")
            await caller.leave()
            await until(lambda: calls.callers == 0)

        return await joins(visit, count)


async def socket_joins(count: int) -> dict[str, float]:
    """``joins`` over the WebSocket."""
    async with place("Hello.") as here:

        async def visit() -> None:
            async with here.call() as socket:
                assert json.loads(await socket.recv())["t"] == "ready"

        return await joins(visit, count)


async def main() -> int:
    """Print the figures; returns 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["delay", "cpu", "joins"])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--joins", type=int, default=300)
    options = parser.parse_args()
    kept = True
    for via, limit in LIMITS_MS.items() if "delay" in options.parts else ():
        delays = await delay(via, options.seconds)
        middle = median(delays)
        kept = kept and middle <= limit
        p95 = quantiles(delays, n=20)[-1]
        print(f"{via}: {middle:.0f} ms p50, {p95:.0f} ms p95 of {len(delays)} (limit {limit:.0f} ms p50)")
    if "cpu" in options.parts:
        echo, room = await bare(options.seconds), await silent(options.seconds)
        kept = kept and room <= CPU_LIMIT * echo
        print(f"silent room {100 * room:.1f} %, echo peer {100 * echo:.1f} % of a core: {room / echo:.2f} x (1.2)")
    if "joins" in options.parts:
        for via, measure in (("webrtc", call_joins), ("websocket", socket_joins)):
            grown = await measure(options.joins)
            kept = kept and grown["MB"] <= GROWTH_LIMIT_MB
            kept = kept and all(grown[name] <= MOST_MORE for name in ("threads", "tasks", "files"))
            told = ", ".join(f"{value:+.1f} {name}" for name, value in grown.items())
            print(f"{options.joins} joins over {via}: {told}", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
