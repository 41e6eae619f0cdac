"""Threads that sound depends on go first, where the system lets them."""

from __future__ import annotations

import os
import sys
import threading

import structlog

log = structlog.get_logger(__name__)

SOUND_NICE = -11
"""What desktop sound servers use: before everything ordinary, behind everything with a real-time claim."""


def prefer_this_thread() -> bool:
    """Ask for a higher priority of the calling thread. Without the right to it (``CAP_SYS_NICE`` or a limit on nice
    values) nothing changes. Returns whether it was granted.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), SOUND_NICE)
    except OSError as fault:
        log.debug("no higher priority for a sound thread", error=str(fault))
        return False
    return True
