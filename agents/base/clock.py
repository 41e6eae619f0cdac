"""Time: the only module that reads clocks.

Three kinds of time exist. *Monotonic* seconds order what happens in one process: ``now()`` is the running loop's own
time, so ``asyncio.sleep``, ``asyncio.timeout`` and ``loop.call_later`` agree with it. *Wall* time is an aware UTC
``datetime``. *Media* time is a sample index and belongs to the audio floor.

``VirtualLoop`` is an event loop whose time stands still while anything can run and jumps to the next timer when nothing
can. Under it a conversation of minutes passes in the time its computation takes, always in the same order: blocking
inference runs to its end and is charged its declared cost, never its measured one.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

_REAL_WAIT_S = 0.5
"""Longest real wait while virtual time is held, so that signals are noticed."""


def now() -> float:
    """Seconds on the running loop's monotonic clock."""
    return asyncio.get_running_loop().time()


def wall() -> datetime:
    """The date and time, aware, in UTC; on a virtual loop it moves with virtual time."""
    loop = _running_loop()
    if isinstance(loop, VirtualLoop):
        return loop.wall_start + timedelta(seconds=loop.time() - loop.start_time)
    return datetime.now(UTC)


def perf_counter() -> float:
    """Real seconds for measurements, whatever loop is running."""
    return time.perf_counter()


def cpu_seconds() -> float:
    """Processor seconds that the calling thread has used, for measurements on a machine that does other things too."""
    return time.thread_time()


def process_cpu_seconds() -> float:
    """Processor seconds that all threads of the process have used together."""
    return time.process_time()


def blocking_sleep(seconds: float) -> None:
    """Sleep the calling thread for real. Only for worker threads and scripts, never on a loop."""
    time.sleep(seconds)


async def sleep_until(when: float) -> None:
    """Sleep until ``now()`` is ``when`` (returns after one turn of the loop if it has passed)."""
    await asyncio.sleep(max(0.0, when - now()))


async def infer(work: Callable[[], T], *, cost_s: float, executor: Executor | None = None) -> T:
    """Run blocking ``work`` off the loop and return its result.

    On a virtual loop the work runs at once and the caller resumes exactly ``cost_s`` virtual seconds later, so the
    order of events never depends on the machine.

    Args:
        work: a function that may block and must not touch the loop.
        cost_s: declared duration in seconds, charged on a virtual loop only.
        executor: where to run on a real loop; the default executor when None.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        result = work()
        await asyncio.sleep(cost_s)
        return result
    return await loop.run_in_executor(executor, work)


@contextlib.contextmanager
def real_time_work() -> Generator[None]:
    """Keep virtual time still while something outside the process (a socket, a subprocess) is being waited for."""
    loop = _running_loop()
    if not isinstance(loop, VirtualLoop):
        yield
        return
    loop.hold()
    try:
        yield
    finally:
        loop.release()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class _VirtualSelector(selectors.BaseSelector):
    """Polls real I/O; instead of blocking for a timer it moves the loop's time to it."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.time = 0.0
        self.holds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.holds or timeout is None:
            return self._real.select(_REAL_WAIT_S)
        self.time += timeout
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Any:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time; see the module's description.

    Args:
        wall_start: what ``wall()`` returns at virtual time ``start_time``; the real time of creation when None.
        start_time: first value of ``time()``, in seconds.
    """

    def __init__(self, wall_start: datetime | None = None, start_time: float = 0.0) -> None:
        self._virtual = _VirtualSelector()
        self._virtual.time = start_time
        super().__init__(self._virtual)
        self._clock_resolution = 1e-6
        self.start_time = start_time
        self.wall_start = wall_start or datetime.now(UTC)
        self._inline = ThreadPoolExecutor(max_workers=1, thread_name_prefix="virtual-loop")

    def time(self) -> float:
        """Virtual seconds."""
        return self._virtual.time

    def hold(self) -> None:
        """Stop virtual time until ``release``; holds nest."""
        self._virtual.holds += 1

    def release(self) -> None:
        """Undo one ``hold``."""
        self._virtual.holds -= 1

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """As usual, with virtual time standing still until the work is done."""
        future = super().run_in_executor(executor or self._inline, func, *args)
        self.hold()
        future.add_done_callback(lambda _: self.release())
        return future

    def close(self) -> None:
        """Close the loop and its worker."""
        super().close()
        self._inline.shutdown(wait=False)


def run_virtual(main: Coroutine[Any, Any, T], *, wall_start: datetime | None = None) -> T:
    """Run ``main`` to completion on a fresh ``VirtualLoop`` and return its result."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(wall_start)) as runner:
        return runner.run(main)
