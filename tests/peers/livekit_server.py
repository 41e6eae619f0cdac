"""A LiveKit server for tests: the one at ``LIVEKIT_URL``, or a real one that this machine has or can build.

``GLOVE_LIVEKIT_SERVER`` names the program; else it is looked for in the user's cache folder, where
``scripts/livekit-server`` puts it when Go is there.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.base.clock import blocking_sleep
from agents.base.credentials import Secret
from realtime.livekit.tokens import LiveKitAccess

VERSION = "v1.13.5"
KEY, SECRET = "devkey", "secret"
START_S = 15.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Looked up once: tests give themselves homes of their own."""


class LiveKitServer:
    """A server in a process of its own, on ports of its own. It can be killed and started again."""

    def __init__(self, program: Path, webhook: str = "") -> None:
        self._program = program
        self._webhook = webhook
        self.port, self._tcp, self._udp = free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def access(self) -> LiveKitAccess:
        return LiveKitAccess(f"ws://127.0.0.1:{self.port}", KEY, Secret(SECRET))

    def start(self) -> None:
        body = f"port: {self.port}\nrtc:\n  udp_port: {self._udp}\n  tcp_port: {self._tcp}\n  use_external_ip: false\n"
        body += "room:\n  departure_timeout: 5\n"
        if self._webhook:
            body += f"webhook:\n  api_key: {KEY}\n  urls: ['{self._webhook}']\n"
        self._process = subprocess.Popen(
            [str(self._program), "--dev", "--bind", "127.0.0.1", "--config-body", body],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(round(START_S / 0.05)):
            if self._process.poll() is not None:
                raise AssertionError(f"the LiveKit server ended with {self._process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            blocking_sleep(0.05)
        raise AssertionError("the LiveKit server does not listen")

    def kill(self) -> None:
        """End it without a word, as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


def program() -> Path | None:
    """The server's program, or None where this machine has none."""
    if named := os.environ.get("GLOVE_LIVEKIT_SERVER"):
        return Path(named)
    built = CACHE / "glove" / f"livekit-server-{VERSION}" / "server"
    if built.is_file():
        return built
    found = shutil.which("livekit-server")
    return None if found is None else Path(found)


@contextmanager
def livekit_server(webhook: str = "") -> Iterator[LiveKitServer]:
    """Run a server. Skips where there is none."""
    path = program()
    if path is None:
        pytest.skip("no LiveKit server: scripts/livekit-server builds one where Go is installed")
    server = LiveKitServer(path, webhook)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def livekit() -> Iterator[LiveKitAccess]:
    """A LiveKit server for tests that leave it as it was: the one that ``LIVEKIT_URL``, ``LIVEKIT_API_KEY`` and
    ``LIVEKIT_API_SECRET`` name, else one of our own."""
    if url := os.environ.get("LIVEKIT_URL"):
        key, secret = os.environ.get("LIVEKIT_API_KEY", KEY), os.environ.get("LIVEKIT_API_SECRET", SECRET)
        yield LiveKitAccess(url, key, Secret(secret))
        return
    with livekit_server() as server:
        yield server.access


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, over TCP and UDP."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
