"""A TURN relay: coturn, where the system has it."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.base.clock import blocking_sleep
from agents.base.credentials import Secret
from realtime.browser.webrtc import IceServers

USER, PASSWORD = "caller", "a-password-for-tests"


@contextmanager
def relay(folder: Path) -> Iterator[IceServers]:
    """A relay on loopback, and the settings of a side that lets itself be reached through it alone."""
    program = shutil.which("turnserver")
    if program is None:
        pytest.skip("coturn is not installed (scripts/setup --dev installs it)")
    port = free_port()
    process = subprocess.Popen(
        [
            *(program, "-n", "--no-cli", "--no-tls", "--no-dtls", "--lt-cred-mech", "--allow-loopback-peers"),
            *("--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", f"--listening-port={port}", "--realm=test"),
            *(f"--user={USER}:{PASSWORD}", f"--pidfile={folder / 'pid'}", "--log-file=stdout"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(port, process)
        yield IceServers(
            turn=f"turn:127.0.0.1:{port}", turn_user=USER, turn_credential=Secret(PASSWORD), relay_only=True
        )
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        if process.poll() is not None:
            raise AssertionError(f"turnserver ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        blocking_sleep(0.1)
    raise AssertionError("turnserver does not listen")
