"""What an idle appliance costs: processor time as a share of one core, with the wake word on.

    python -m benchmarks.idle [--seconds 60]

The whole daemon, as ``glove run`` starts it, on virtual devices in a room of faint noise where nobody says anything. It
is looked at in the first minute after it spoke, then when the speaker rests, and at last (for information) while a
radio talks, which nobody may take for a wake phrase. The sound server's own cost is not counted; what its client
library does in this process is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from agents.base.clock import blocking_sleep, perf_counter
from audio.io.wiring import SPEAKER_RESTS_S
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import resample
from benchmarks.virtual_room import VirtualRoom
from tests.peers.pulse import RATE_HZ
from tests.support.speech import spoken

LIMIT = 0.04
"""Share of one core that an idle appliance may take."""

NOISE_RMS = 30.0
"""Of the room, on the scale of int16: about -60 dB."""

SETTLE_S = 8.0
"""After the greeting, until there is no echo left to cancel and the room's noise is known."""

PARTS = {
    "front-end": "front end: level, echo path, voice detection",
    "microphone": "microphone: PortAudio's thread and our callback",
    "speaker": "speaker: the same",
    "threaded-ml": "both streams: the sound server's client library",
    "stall-watch": "watch over the loop",
}
"""What the threads do, by the name the system knows them by. Others belong to the loop and its pools."""

REST = "event loop: wake word, session, supervision"


def noise(seconds: float) -> Pcm:
    """A quiet room."""
    return np.random.default_rng(1).normal(0, NOISE_RMS, round(seconds * RATE_HZ)).astype(np.int16)


def radio(seconds: float) -> Pcm:
    """Somebody reads aloud, without end."""
    speech = resample((spoken(12.0) * 0.3).astype(np.int16), CAPTURE_RATE_HZ, RATE_HZ)
    return np.resize(speech, round(seconds * RATE_HZ)).astype(np.int16)


def used(pid: int) -> Counter[str]:
    """Seconds of processor time by part, to the nanosecond."""
    total: Counter[str] = Counter()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (thread / "comm").read_text().strip()
            total[PARTS.get(name, REST)] += int((thread / "schedstat").read_text().split()[0])
        except OSError:  # it has ended meanwhile
            continue
    return Counter({part: ns / 1e9 for part, ns in total.items()})  # type: ignore[misc]


def watch(room: VirtualRoom, seconds: float) -> dict[str, float]:
    """Shares of one core by part, during ``seconds`` of real time."""
    before, begun = used(room.pid), perf_counter()
    blocking_sleep(seconds)
    after, took = used(room.pid), perf_counter() - begun
    return {part: (after[part] - before[part]) / took for part in after}


def show(title: str, shares: dict[str, float]) -> float:
    """Print one table; returns the sum."""
    whole = sum(shares.values())
    print(f"\n{title}")
    for part, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"  {part:52} {share:6.2%}")
    print(f"  {'together':52} {whole:6.2%}, {whole / LIMIT:.2f} of the limit of {LIMIT:.0%}", flush=True)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares; 0 when both idle ones are within the limit and nobody was woken."""
    parser = argparse.ArgumentParser(description="Processor time of an idle appliance with the wake word on.")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each measurement (default: %(default)s)")
    options = parser.parse_args(arguments)
    soon_s = min(options.seconds, SPEAKER_RESTS_S - SETTLE_S - 2)
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, closing(VirtualRoom(Path(folder))) as room:
        room.open()
        room.until(lambda: any(event["type"] == "agent_speech_stopped" for event in room.events()), 30.0, "it greets")
        room.play("", noise(2 * options.seconds + SPEAKER_RESTS_S + 60), RATE_HZ, wait=False)
        blocking_sleep(SETTLE_S)
        soon = show("Soon after it spoke", watch(room, soon_s))
        blocking_sleep(SPEAKER_RESTS_S - SETTLE_S - soon_s + 2)
        later = show("Later, when the speaker rests", watch(room, options.seconds))
        room.play("", radio(options.seconds + 5), RATE_HZ, wait=False)
        blocking_sleep(3)
        show("While a radio talks (no limit)", watch(room, options.seconds))
        woken = sum(event["type"] == "wake" for event in room.events())
        print(f"\nwoken by nobody: {woken}")
    return int(max(soon, later) > LIMIT or woken > 0)


if __name__ == "__main__":
    sys.exit(main())
