"""Finds what holds up the event loop.

The loop's selector notes when the loop goes to sleep and when it comes back, so every turn that takes too long is
counted, at no cost worth the name. A thread looks at that note a few times per second and, while a turn is too long,
takes down the stack of the loop. Neither ever wakes a loop that has nothing to do.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import traceback
from types import FrameType
from typing import Any

import structlog

from agents.base.clock import perf_counter
from audio.io.priority import name_this_thread

log = structlog.get_logger(__name__)

LIMIT_S = 0.05
"""A turn of the loop that takes this long is a stall."""

SERIOUS_S = 0.2
"""From this on a stall is a warning. A shorter one, or one of the start when nobody is listening yet, is only noted."""

LOOK_S = 0.04
"""Between two looks of the thread; a stall shorter than ``LIMIT_S + LOOK_S`` may be reported without its stack."""

DEEPEST = 12
"""Frames of the stack that are reported."""


class WatchedSelector(selectors.DefaultSelector):
    """A selector that knows how long each turn of its loop takes.

    Args:
        limit_s: from how many seconds on a turn is a stall.

    Attributes:
        busy_since: ``perf_counter`` when the loop began its turn; None while it waits.
        stalls: how many turns were too long.
        longest_s: the longest of them, in seconds.
        starting: whether nobody is listening yet.
        culprit: ``busy_since`` of the turn that was last found to be too long, and the stack it stood in.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        super().__init__()
        self.limit_s = limit_s
        self.starting = True
        self.culprit: tuple[float, str] | None = None
        self.busy_since: float | None = None
        self.stalls = 0
        self.longest_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """See ``selectors.BaseSelector``."""
        if self.busy_since is not None:
            self._note(perf_counter() - self.busy_since)
        self.busy_since = None
        try:
            return super().select(timeout)
        finally:
            self.busy_since = perf_counter()

    def _note(self, took_s: float) -> None:
        if took_s < self.limit_s:
            return
        self.stalls += 1
        self.longest_s = max(self.longest_s, took_s)
        where = self.culprit[1] if self.culprit is not None and self.culprit[0] == self.busy_since else ""
        serious = took_s >= SERIOUS_S and not self.starting
        (log.warning if serious else log.info)("the event loop stood still", ms=round(1000 * took_s), where=where)


class StallWatch:
    """Watches the loop that ``make_loop`` makes, from a thread of its own.

    Args:
        limit_s: how long one turn of the loop may take, in seconds.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._selector: WatchedSelector | None = None
        self._owner = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def make_loop(self) -> asyncio.AbstractEventLoop:
        """The loop to run, for ``asyncio.Runner``; once."""
        self._selector = WatchedSelector(self._limit_s)
        return asyncio.SelectorEventLoop(self._selector)

    @property
    def stalls(self) -> int:
        """How many turns were too long."""
        return 0 if self._selector is None else self._selector.stalls

    @property
    def longest_s(self) -> float:
        """The longest of them, in seconds."""
        return 0.0 if self._selector is None else self._selector.longest_s

    def start(self) -> None:
        """Begin to look for what causes stalls; call it on the loop. Idempotent; on another loop it does nothing."""
        if self._thread is None and self._selector is not None:
            self._selector.starting = False
            self._owner = threading.get_ident()
            self._thread = threading.Thread(target=self._run, args=(self._selector,), name="stall-watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop looking; idempotent."""
        self._stop.set()

    def _run(self, selector: WatchedSelector) -> None:
        name_this_thread("stall-watch")
        reported = None
        while not self._stop.wait(LOOK_S):
            since = selector.busy_since
            took_s = 0.0 if since is None else perf_counter() - since
            if since is None or since == reported or took_s < self._limit_s:
                continue
            if selector.culprit is None or selector.culprit[0] != since:
                where = self._stack()
                if selector.busy_since != since:
                    continue  # it has ended meanwhile, so this is not the culprit
                selector.culprit = (since, where)
            if took_s >= max(self._limit_s, SERIOUS_S):  # it may never end, so that nothing else would tell
                reported = since
                log.warning("the event loop stands still", where=selector.culprit[1])

    def _stack(self) -> str:
        frame: FrameType | None = sys._current_frames().get(self._owner)  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return ""
        lines = traceback.extract_stack(frame)[-DEEPEST:]
        return " > ".join(f"{line.filename.rpartition('/')[2]}:{line.lineno} {line.name}" for line in lines)
