"""How long after ``scripts/run`` the first word can be heard, on a virtual sound card: once cold, then warm.

Prints the time of each start and the limit; exits with 1 when the last one is over it. Set up with scripts/setup --dev
before: a set-up that is out of date would be renewed by the first start.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from agents.base.clock import blocking_sleep, perf_counter
from tests.peers.pulse import RATE_HZ, Pulse

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 8.0
GIVE_UP_S = 60.0
LOUD = 300
"""Amplitude of s16 above which a sample is sound; the virtual speaker has no noise of its own."""


def first_word_s(pulse: Pulse, folder: Path) -> float:
    """Start the appliance, wait for sound, stop it. Returns seconds from the start to the first loud sample."""
    recording = folder / "speaker.raw"
    recorder = pulse.record_speaker(recording)
    environment = {
        **pulse.environment,
        "GLOVE_STORE__PATH": str(folder / "glove.db"),
        "GLOVE_PAGE__ENABLED": "false",
        "GLOVE_MODEL__PROVIDER": "none",
        "GLOVE_DEVICE__OUTPUT": "vspk",
        "GLOVE_DEVICE__INPUT": "vmic",
    }
    environment["HOME"] = str(Path.home())  # where the weights are
    started = perf_counter()
    program = subprocess.Popen([str(ROOT / "scripts" / "run")], env=environment, stdin=subprocess.DEVNULL)
    try:
        while perf_counter() - started < GIVE_UP_S:
            blocking_sleep(0.05)
            raw = recording.read_bytes()
            sound = np.frombuffer(raw[: len(raw) // 2 * 2], "<i2")
            loud = np.flatnonzero(np.abs(sound.astype(np.int32)) > LOUD)
            if loud.size:
                after_s = (sound.size - int(loud[0])) / RATE_HZ
                return perf_counter() - started - after_s
        raise TimeoutError(f"nothing was heard within {GIVE_UP_S:.0f} s")
    finally:
        program.send_signal(signal.SIGTERM)
        program.wait(10)
        recorder.kill()
        recorder.wait(10)


def main() -> int:
    """Measure three starts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o700)
        pulse = Pulse(folder)
        pulse.start()
        try:
            times = [first_word_s(pulse, folder) for _ in range(3)]
        finally:
            pulse.close()
    for number, seconds in enumerate(times, 1):
        print(f"start {number}: first word after {seconds:.1f} s")
    print(f"limit: {LIMIT_S:.1f} s")
    return int(times[-1] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
