"""A PulseAudio server of the tests' own: a virtual microphone and a virtual speaker, no hardware, no configuration.

The microphone (``vmic``) hears what is played into the sink ``micfeed``; the speaker is the sink ``spk``. PortAudio
reaches both through ALSA, by the names that a generated ALSA file gives them. ``loopback`` lets the speaker be heard by
the microphone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.base.clock import blocking_sleep, perf_counter
from audio.pcm import Pcm

TOOLS = ("pulseaudio", "pactl", "pacat", "parec")
MICROPHONE, SPEAKER = "Virtual Mic", "Virtual Speaker"
RATE_HZ = 48_000

_MODULES = (
    "module-null-sink sink_name=spk rate=48000 channels=2",
    "module-null-sink sink_name=micfeed rate=48000 channels=1",
    "module-remap-source source_name=vmic master=micfeed.monitor",
)


class Pulse:
    """The server, and what can be done to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "native"
        self.environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(folder),
            "HOME": str(folder),
            "PULSE_SERVER": f"unix:{self.socket}",
            "ALSA_CONFIG_PATH": str(folder / "asound.conf"),
        }
        self._server: subprocess.Popen[bytes] | None = None
        self._children: list[subprocess.Popen[bytes]] = []
        self._write_alsa()

    def _write_alsa(self) -> None:
        def pcm(name: str, device: str, description: str) -> str:
            hint = f'hint {{ show on description "{description}" }}'
            return f'pcm.{name} {{ type pulse server "unix:{self.socket}" device "{device}" {hint} }}\n'

        text = "</usr/share/alsa/alsa.conf>\n"
        text += f'pcm.!default {{ type pulse server "unix:{self.socket}" hint {{ show on description "default" }} }}\n'
        text += pcm("vmic", "vmic", MICROPHONE) + pcm("vspk", "spk", SPEAKER) + pcm("pipemic", "pipemic", "Pipe Mic")
        (self.folder / "asound.conf").write_text(text)

    def start(self) -> None:
        """Start the server, and what keeps its sinks awake: an idle one renders in blocks of up to two seconds."""
        command = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"]
        command += ["--log-target=stderr", "--log-level=error", "-L"]
        command += [f"module-native-protocol-unix socket={self.socket} auth-anonymous=1"]
        for module in _MODULES:
            command += ["-L", module]
        self._server = self._spawn(command)
        self._wait_for(lambda: self.pactl("info", check=False).returncode == 0)
        self.pactl("set-default-sink", "spk")
        self.pactl("set-default-source", "vmic")
        self.keep_awake()

    def keep_awake(self) -> None:
        """Read both monitors all the time."""
        for source in ("vmic", "spk.monitor"):
            command = ["parec", "-d", source, "--latency-msec=10", "--raw"]
            self._children.append(self._spawn(command))

    def kill(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server as if it had crashed or been stopped."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(10)
            self._server = None
        self._reap()
        self.socket.unlink(missing_ok=True)

    def _reap(self) -> None:
        for child in self._children:
            child.kill()
            child.wait(10)
        self._children.clear()

    def close(self) -> None:
        """End everything."""
        self.kill(signal.SIGKILL)

    def unplug(self, *, nothing_else: bool = False) -> None:
        """Take the microphone away; the speaker stays.

        The server gives its listeners another source, which may be the speaker's own monitor; with ``nothing_else`` it
        is one from which nothing comes.
        """
        if nothing_else:
            if "nowhere" not in self.pactl("list", "short", "sinks").stdout.decode():
                self.pactl("load-module", "module-null-sink", "sink_name=nowhere")
            self.pactl("suspend-sink", "nowhere", "1")
            self.pactl("set-default-source", "nowhere.monitor")
        for module in self._modules("vmic") + self._modules("sink_name=micfeed"):
            self.pactl("unload-module", module)

    def plug_in(self) -> None:
        """Put it back."""
        for module in _MODULES[1:]:
            self.pactl("load-module", *module.split())
        self.pactl("set-default-source", "vmic")
        self._children.append(self._spawn(["parec", "-d", "vmic", "--latency-msec=10", "--raw"]))

    def suspend_microphone(self, suspended: bool) -> None:
        """Freeze the microphone: it stays there and delivers nothing."""
        self.pactl("suspend-source", "vmic", str(int(suspended)))

    @contextlib.contextmanager
    def loopback(self, latency_ms: int = 30) -> Iterator[None]:
        """Let the microphone hear the speaker."""
        loaded = self.pactl(
            "load-module", "module-loopback", "source=spk.monitor", "sink=micfeed", f"latency_msec={latency_ms}"
        )
        module = loaded.stdout.decode().strip()
        try:
            yield
        finally:
            self.pactl("unload-module", module, check=False)

    def say(self, pcm: Pcm, rate_hz: int, sink: str = "micfeed") -> subprocess.Popen[bytes]:
        """Speak into the microphone (or another sink); returns at once."""
        path = self.folder / "said.raw"
        path.write_bytes(pcm.astype("<i2").tobytes())
        command = ["pacat", "-d", sink, "--raw", "--format=s16le", "--channels=1", f"--rate={rate_hz}"]
        child = self._spawn([*command, "--latency-msec=150", str(path)])
        self._children.append(child)
        return child

    def record_speaker(self, path: Path) -> subprocess.Popen[bytes]:
        """Record what the speaker plays as s16le, mono, 48 kHz, until the returned process is ended."""
        return self.record_sink("spk", path)

    def record_sink(self, sink: str, path: Path) -> subprocess.Popen[bytes]:
        """Record what is played into ``sink``, likewise."""
        command = ["parec", "-d", f"{sink}.monitor", "--raw", "--format=s16le", "--channels=1", f"--rate={RATE_HZ}"]
        with path.open("wb") as out:
            return self._spawn([*command, "--latency-msec=10"], out)

    def pactl(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        """Run ``pactl``."""
        return subprocess.run(["pactl", *arguments], env=self.environment, capture_output=True, timeout=10, check=check)

    def _modules(self, part: str) -> list[str]:
        lines = self.pactl("list", "short", "modules").stdout.decode().splitlines()
        return [line.split()[0] for line in lines if part in line]

    def _spawn(self, command: list[str], out: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL
        )

    def _wait_for(self, condition: Any, limit_s: float = 10.0) -> None:
        deadline = perf_counter() + limit_s
        while not condition():
            if perf_counter() > deadline:
                raise TimeoutError("PulseAudio does not answer")
            blocking_sleep(0.05)


@pytest.fixture(scope="session")
def pulse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulse]:
    """A server for the whole session; PortAudio in this process uses it."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; scripts/setup --dev installs PulseAudio")
    from audio.io.portaudio import PortAudioBackend

    server = Pulse(tmp_path_factory.mktemp("pulse"))
    names = ("PULSE_SERVER", "ALSA_CONFIG_PATH")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: server.environment[name] for name in names})
    try:
        server.start()
        backend = PortAudioBackend()
        backend.reinitialise()
        if not any("vmic" in device.name for device in backend.devices()):
            pytest.skip("ALSA has no pulse plugin; scripts/setup --dev installs libasound2-plugins")
        yield server
    finally:
        server.close()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture
def pulse(pulse_server: Pulse) -> Iterator[Pulse]:
    """The server, brought back to life if the test ended it."""
    yield pulse_server
    if pulse_server.pactl("info", check=False).returncode != 0:
        pulse_server.kill(signal.SIGKILL)
        pulse_server.start()
