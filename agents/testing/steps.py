"""Races, swept instead of sampled: run something again and again, and interfere at each single step of it.

A *step* is what runs between two points at which any task of the loop waits. On virtual time the same scenario takes
the same steps each time, so that "cancel it at step 17" is a place in the program.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, TypeVar

from agents.base.clock import run_virtual

T = TypeVar("T")

MAX_STEPS = 100_000
"""A scenario with more steps than this is taken for one that does not end."""


class Steps:
    """Counts the steps of all tasks that are started while it counts, and acts before one of them.

    Args:
        at: number of the step, counted from one; None only counts.
        action: what to do right before it, for example ``abort.abort``.
    """

    def __init__(self, at: int | None = None, action: Callable[[], object] | None = None) -> None:
        self.count = 0
        self._at = at
        self._action = action
        self._counting = False

    @contextlib.contextmanager
    def counting(self) -> Generator[None]:
        """Count while the block runs, in the tasks that it starts."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self._task)
        self._counting = True
        try:
            yield
        finally:
            self._counting = False
            loop.set_task_factory(before)

    def _task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Stepping(work, self._step), loop=loop, **options)

    def _step(self) -> None:
        if not self._counting:
            return
        self.count += 1
        if self.count > MAX_STEPS:
            raise AssertionError("the scenario does not end")
        if self.count == self._at and self._action is not None:
            self._action()


def sweep(scenario: Callable[[int | None], Coroutine[Any, Any, int]], *, every: int = 1, first: int = 1) -> int:
    """Run ``scenario(None)`` to learn how many places it has, then ``scenario(place)`` for each of them.

    Args:
        scenario: runs on fresh objects on virtual time, interferes at the given place (a step, or an operation of a
            store), checks what must hold whatever the place was, and returns how many places it saw.
        every: only every that many places are tried.
        first: the first place that is tried.

    Returns:
        How many places were tried.

    Raises:
        AssertionError: what a scenario raised, with the number of the place in a note.
    """
    total = run_virtual(scenario(None))
    tried = 0
    for place in range(first, total + 1, every):
        try:
            run_virtual(scenario(place))
        except BaseException as fault:
            fault.add_note(f"at place {place} of {total}")
            raise
        tried += 1
    return tried


def left_behind(ignoring: Iterable[asyncio.Task[Any]] = ()) -> list[str]:
    """The names of tasks that are still there, besides the running one and those in ``ignoring``."""
    known = {asyncio.current_task(), *ignoring}
    return sorted(task.get_name() for task in asyncio.all_tasks() if task not in known)


class _Stepping(Coroutine[Any, Any, T]):
    """``work``, with a call of ``step`` each time it goes on."""

    def __init__(self, work: Coroutine[Any, Any, T], step: Callable[[], None]) -> None:
        self._work = work
        self._step = step

    def send(self, value: Any, /) -> Any:
        self._step()
        return self._work.send(value)

    def throw(self, *fault: Any) -> Any:
        self._step()
        return self._work.throw(*fault)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise NotImplementedError("a task runs it")
