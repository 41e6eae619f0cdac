"""What an idle appliance costs: processor time as a share of one core, with the wake word on.

    python -m benchmarks.idle --seconds 30

A session sleeps in a room of faint noise; nothing is said. The room is a pump on the real clock, so the figure holds
the event loop's wake-ups as well. What the front end of a device adds (its echo path, which rests while nothing sounds,
and voice detection) is measured on its own and added.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.base.clock import process_cpu_seconds
from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from audio.dsp.duplex import EchoPath
from audio.dsp.echo import WebRtcEchoCanceller
from audio.io.pump import NullSink, PumpRoom
from audio.pcm import FRAME_SAMPLES, Pcm, silence
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.vad.silero import SileroVad
from audio.voice import GloveVoice
from audio.wake.attention import Attending, AttentionSettings
from audio.wake.micro import MicroWakeDetector

LIMIT = 0.04
"""Share of one core that an idle appliance may take."""

WARM_UP_S = 2.0


class Hum:
    """A quiet room: noise at about -60 dB."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self._frames = [rng.normal(0, 30, FRAME_SAMPLES).astype(np.int16) for _ in range(100)]
        self._next = 0

    def frame(self) -> Pcm:
        """The next 10 ms."""
        self._next = (self._next + 1) % len(self._frames)
        return self._frames[self._next]

    def close(self) -> None:
        """Nothing to release."""


@dataclass(frozen=True)
class Shares:
    """Shares of one core."""

    session: float
    pump: float
    front_end: float

    @property
    def whole(self) -> float:
        """A device: the session and the front end."""
        return self.session + self.front_end


async def _session(seconds: float, wake: bool) -> float:
    room = PumpRoom(Hum(), NullSink())
    stt = ScriptedSegmentStt([])
    if not wake:
        await room.open(lambda frame, sample: None)
        share = await _watch(seconds)
        await room.close()
        return share
    agent = Glove(model=ScriptedModel([]), system_prompt="").build()
    voice = GloveVoice(
        agent,
        room,
        stt=stt,
        tts=ScriptedVoice(),
        vad=SileroVad(),
        attention=Attending(AttentionSettings(), MicroWakeDetector()),
    )
    await voice.start()
    share = await _watch(seconds)
    assert voice.attention == "asleep"
    await voice.stop()
    return share


async def _watch(seconds: float) -> float:
    await asyncio.sleep(WARM_UP_S)
    before = process_cpu_seconds()
    await asyncio.sleep(seconds)
    return (process_cpu_seconds() - before) / seconds


def _front_end(seconds: float) -> float:
    """The echo path with a silent loudspeaker, and voice detection, on frames of noise."""
    path, vad, hum = EchoPath("auto", WebRtcEchoCanceller()), SileroVad(), Hum()
    quiet = silence(480)
    while not path.at_rest:
        path.process(hum.frame(), [quiet])
    before = process_cpu_seconds()
    for _ in range(round(seconds * 100)):
        vad.process(path.process(hum.frame(), [quiet]))
    return (process_cpu_seconds() - before) / seconds


def measure(seconds: float) -> Shares:
    """Measure for ``seconds`` of real time each."""
    session = asyncio.run(_session(seconds, wake=True))
    pump = asyncio.run(_session(seconds, wake=False))
    return Shares(session, pump, _front_end(seconds))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares; 0 when the whole is within the limit."""
    parser = argparse.ArgumentParser(description="Processor time of an idle appliance with the wake word on.")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of each measurement (default: %(default)s)")
    options = parser.parse_args(arguments)
    shares = measure(options.seconds)
    print(f"session asleep, wake word on   {shares.session:6.2%} of a core (of it the room's pump {shares.pump:.2%})")
    print(f"front end of a device          {shares.front_end:6.2%}")
    print(f"together                       {shares.whole:6.2%}, {shares.whole / LIMIT:.2f} of the limit of {LIMIT:.0%}")
    return int(shares.whole > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
