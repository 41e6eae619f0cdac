"""Finds what holds up the event loop: a thread asks the loop for a sign, and looks at its stack when none comes."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from types import FrameType

import structlog

from agents.base.clock import perf_counter

log = structlog.get_logger(__name__)

LIMIT_S = 0.05
"""A loop that does not answer for this long is reported."""

PAUSE_S = 0.03
"""Between two questions; a stall shorter than ``LIMIT_S + PAUSE_S`` may go unnoticed."""

DEEPEST = 12
"""Frames of the stack that are reported."""


class StallWatch:
    """Watches the running loop from a thread of its own.

    Args:
        limit_s: how long the loop may take to answer, in seconds.

    Attributes:
        stalls: how many were found.
        longest_s: the longest, in seconds.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.stalls = 0
        self.longest_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._owner = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stall-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching; idempotent."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            answered = threading.Event()
            asked = perf_counter()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:
                return  # the loop is closed
            if answered.wait(self.limit_s):
                continue
            where = self._stack()
            while not answered.wait(0.5):
                if self._stop.is_set():
                    return
            took_s = perf_counter() - asked
            self.stalls += 1
            self.longest_s = max(self.longest_s, took_s)
            log.warning("the event loop stood still", ms=round(1000 * took_s), where=where)

    def _stack(self) -> str:
        frame: FrameType | None = sys._current_frames().get(self._owner)  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return ""
        lines = traceback.extract_stack(frame)[-DEEPEST:]
        return " > ".join(f"{line.filename.rpartition('/')[2]}:{line.lineno} {line.name}" for line in lines)
