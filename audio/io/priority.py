"""Threads that sound depends on go first, where the system lets them, and are known by name to whoever looks."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

SOUND_NICE = -11
"""What desktop sound servers use: before everything ordinary, behind everything with a real-time claim."""


def prefer_this_thread(name: str) -> bool:
    """Name the calling thread for ``top -H`` and ask for a higher priority. Without the right to that (``CAP_SYS_NICE``
    or a limit on nice values) the priority stays. Returns whether it was granted.
    """
    if not sys.platform.startswith("linux"):
        return False
    name_this_thread(name)
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), SOUND_NICE)
    except OSError as fault:
        log.debug("no higher priority for a sound thread", error=str(fault))
        return False
    return True


def name_this_thread(name: str) -> None:
    """Let the system know the calling thread by ``name``, of which 15 characters count. Nothing where it cannot."""
    try:
        Path("/proc/thread-self/comm").write_text(name[:15])
    except OSError as fault:
        log.debug("a thread cannot be named", name=name, error=str(fault))
