"""What the service manager is told."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from appliance.daemon.systemd import ServiceNotifier


def test_states_arrive_as_datagrams(tmp_path: Path) -> None:
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(2)
    notifier = ServiceNotifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    notifier.ready("device: ok\npage: ok")
    notifier.alive()
    notifier.stopping()
    received = [manager.recv(4096) for _ in range(3)]
    manager.close()
    assert received == [b"READY=1\nSTATUS=device: ok page: ok", b"WATCHDOG=1", b"STOPPING=1"]
    notifier.alive()  # nobody listens any more: no reason to fall over


def test_abstract_addresses_work() -> None:
    name = f"glove-test-{os.getpid()}"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(f"\0{name}")
    manager.settimeout(2)
    ServiceNotifier({"NOTIFY_SOCKET": f"@{name}"}).status("loading")
    assert manager.recv(4096) == b"STATUS=loading"
    manager.close()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "15000000"}, 15.0),
        ({"WATCHDOG_USEC": "15000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "15000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_whether_somebody_watches(environ: dict[str, str], expected: float | None) -> None:
    assert ServiceNotifier(environ).watchdog_s == expected


def test_without_a_manager_nothing_happens() -> None:
    ServiceNotifier({}).ready("ok")
