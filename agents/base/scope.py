"""Ownership of long-lived tasks: every task has a scope, and a scope can always be closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from agents.base.backoff import Backoff
from agents.base.errors import GloveError

log = structlog.get_logger(__name__)


class Scope:
    """Owns tasks. ``close`` cancels them, waits, reports what did not stop, and always returns.

    Args:
        name: for logs and leak reports.
        on_fault: called with (child name, exception) when a child without restart policy fails.
    """

    def __init__(self, name: str, on_fault: Callable[[str, BaseException], None] | None = None) -> None:
        self.name = name
        self._on_fault = on_fault
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called; a closed scope accepts no children."""
        return self._closed

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run ``work`` as a child. A failure is logged and handed to ``on_fault``; siblings go on.

        A ``GloveError`` that ``on_fault`` receives is the owner's to report.
        """
        if self._closed:
            work.close()
            raise RuntimeError(f"scope {self.name} is closed")
        task = asyncio.get_running_loop().create_task(work, name=f"{self.name}/{name}")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def supervise(self, factory: Callable[[], Awaitable[Any]], name: str, backoff: Backoff) -> asyncio.Task[Any]:
        """Run ``factory()`` again after each failure, with ``backoff``, until its budget is used up or it returns.

        A failure that only repeats the one before is logged at ``info``.
        """

        async def run() -> None:
            told = ""
            while True:
                started = asyncio.get_running_loop().time()
                try:
                    await factory()
                    return
                except Exception as fault:
                    backoff.healthy(asyncio.get_running_loop().time() - started)
                    if backoff.exhausted:
                        raise
                    delay = backoff.next_delay()
                    tell = log.info if repr(fault) == told else log.warning
                    told = repr(fault)
                    tell("child failed, restarting", child=name, delay_s=delay, error=told)
                    await asyncio.sleep(delay)

        return self.spawn(run(), name)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        fault = task.exception()
        if fault is None:
            return
        if self._on_fault is not None and isinstance(fault, GloveError):
            log.info("child failed", child=task.get_name(), code=fault.code, error=fault.message)
        else:
            log.error("child failed", child=task.get_name(), error=repr(fault), exc_info=fault)
        if self._on_fault is not None:
            self._on_fault(task.get_name(), fault)

    async def close(self, timeout_s: float = 5.0) -> list[str]:
        """Cancel every child and wait at most ``timeout_s`` seconds. Returns the names of children still running."""
        self._closed = True
        current = asyncio.current_task()
        pending = {task for task in self._tasks if task is not current}
        for task in pending:
            task.cancel()
        if pending:
            _, late = await asyncio.wait(pending, timeout=timeout_s)
            leaked = sorted(task.get_name() for task in late)
            if leaked:
                log.error("children did not stop", scope=self.name, children=leaked)
            return leaked
        return []
