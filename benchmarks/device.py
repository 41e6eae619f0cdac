"""How soon the device room hears, what it costs, and what a loop that stands still does to it.

Runs on the machine's devices, or with ``--virtual`` on a PulseAudio server of its own, whose speaker its microphone can
hear. Prints, for each phase, the delay from the capture callback to the end of voice detection (limit: 30 ms in 99 of
100 frames), the share of one processor core, and what was lost. Run ``python -m benchmarks.device --help``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.base.clock import perf_counter, process_cpu_seconds
from audio.io.device import DeviceRoom, DeviceSettings
from audio.pcm import Pcm
from audio.vad.base import SpeechProb
from audio.vad.silero import SileroVad

LIMIT_MS = 30.0
LOSSES = ("overruns", "underruns", "lost_samples", "lost_reference_samples", "dropped_frames", "filled_frames")


@dataclass(frozen=True)
class Phase:
    """What is going on while it is measured.

    Attributes:
        name: for the table.
        sounding: whether the device speaks.
        blocks_s: how long the loop computes at a time, a third of a second apart; 0 for never.
    """

    name: str
    sounding: bool = False
    blocks_s: float = 0.0


PHASES = (
    Phase("idle"),
    Phase("speaking", sounding=True),
    Phase("loop blocked 200 ms", blocks_s=0.2),
    Phase("speaking, loop blocked 200 ms", sounding=True, blocks_s=0.2),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns 1 when a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument("--input", default="default", help="microphone: part of its name")
    parser.add_argument("--output", default="default", help="speaker: part of its name")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each phase")
    parser.add_argument("--virtual", action="store_true", help="use a PulseAudio server of its own")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        settings = DeviceSettings(input=options.input, output=options.output)
        if options.virtual:
            settings = _virtual(stack)
        return asyncio.run(_measure(settings, options.seconds))


def _virtual(stack: ExitStack) -> DeviceSettings:
    from tests.peers.pulse import Pulse

    folder = stack.enter_context(tempfile.TemporaryDirectory())
    server = Pulse(Path(folder))
    stack.callback(server.close)
    server.start()
    os.environ.update({name: server.environment[name] for name in ("PULSE_SERVER", "ALSA_CONFIG_PATH")})
    stack.enter_context(server.loopback())
    return DeviceSettings(input="vmic", output="vspk")


async def _measure(settings: DeviceSettings, seconds: float) -> int:
    vad = SileroVad()
    room = DeviceRoom(settings, vad=vad)
    heard: list[str] = []

    def on_frame(frame: Pcm, _sample: int) -> None:
        assert room.vad is not None
        heard.extend(event.type for event in room.vad.process(frame) if not isinstance(event, SpeechProb))

    await room.open(on_frame)
    failed = False
    try:
        await asyncio.sleep(2)
        print(f"{'phase':32}{'p99 ms':>8}{'limit':>7}{'core %':>8}{'erle dB':>9}  lost")
        for phase in PHASES:
            failed |= not await _one(room, phase, seconds)
        print("voice events in its own sound:", len(heard))
        print("health:", room.health.state, room.health.reason)
    finally:
        await room.close()
    return int(failed)


async def _one(room: DeviceRoom, phase: Phase, seconds: float) -> bool:
    if phase.sounding:
        room.player.enqueue(_syllables(seconds, room.player.rate_hz), room.player.rate_hz, room.player.generation)
    else:
        await asyncio.sleep(6)  # until nothing is left to cancel
    await asyncio.sleep(0.5)
    before, cpu, begun = dict(room.health.values), process_cpu_seconds(), perf_counter()
    while perf_counter() - begun < seconds - 1:
        _block(phase.blocks_s)
        await asyncio.sleep(0.33)
    share = 100 * (process_cpu_seconds() - cpu) / (perf_counter() - begun)
    after = room.health.values
    lost = {name: int(after[name] - before[name]) for name in LOSSES if after[name] != before[name]}
    p99 = after["capture_to_vad_p99_ms"]
    erle = f"{after['erle_db']:.0f}" if "erle_db" in after else "-"
    print(f"{phase.name:32}{p99:8.1f}{LIMIT_MS:7.0f}{share:8.1f}{erle:>9}  {lost or 'nothing'}")
    room.player.next_generation()
    return p99 <= LIMIT_MS


def _block(seconds: float) -> None:
    end, total = perf_counter() + seconds, 0
    while perf_counter() < end:
        total += sum(range(100))


def _syllables(seconds: float, rate_hz: int) -> Pcm:
    """A buzz of changing pitch, four syllables a second."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate_hz
    buzz = sum(np.sin(k * phase) / k for k in range(1, 12))
    return (4000 * buzz * np.clip(np.sin(2 * np.pi * 2 * t) + 0.3, 0, 1)).astype(np.int16)


if __name__ == "__main__":
    sys.exit(main())
