"""One step after another: what must reach a face in the order in which it was said."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from avatars.contract import AvatarError

STEP_S = 10.0
"""Longest time for one step, in seconds."""

MOST_STEPS = 10_000
"""Steps that may wait. Beyond it the oldest sound is dropped."""

Step = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Waiting:
    step: Step
    is_sound: bool


class Lane:
    """Runs steps one at a time, each after the one before has ended. A step that fails does not stop the next.

    Args:
        name: of its task.
        on_fault: told of a step that failed, once until one succeeds again.

    Attributes:
        dropped: steps with sound that were dropped because too many waited.
    """

    def __init__(self, name: str, on_fault: Callable[[AvatarError], None]) -> None:
        self._name = name
        self._on_fault = on_fault
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._failing = False
        self._open = asyncio.Event()
        self._open.set()
        self.dropped = 0

    def put(self, step: Step, *, is_sound: bool = False) -> None:
        """Run ``step`` after all that were put before."""
        self._waiting.append(_Waiting(step, is_sound))
        if len(self._waiting) > MOST_STEPS:
            self._make_room()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    def pause(self) -> None:
        """Begin no step until ``resume``."""
        self._open.clear()

    def resume(self) -> None:
        """Go on; no effect unless paused."""
        self._open.set()

    def drop_sound(self) -> None:
        """Forget the steps with sound that have not begun."""
        self._waiting = deque(one for one in self._waiting if not one.is_sound)

    async def close(self) -> None:
        """Forget all steps and stop the one under way; idempotent. More may be put afterwards."""
        self._waiting.clear()
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait({task})

    def _make_room(self) -> None:
        oldest = next((one for one in self._waiting if one.is_sound), self._waiting[0])
        self._waiting.remove(oldest)
        self.dropped += 1

    async def _run(self) -> None:
        while self._waiting:
            await self._open.wait()
            if self._waiting:  # they may have been forgotten meanwhile
                await self._try(self._waiting.popleft().step)
        self._task = None

    async def _try(self, step: Step) -> None:
        try:
            async with asyncio.timeout(STEP_S):
                await step()
        except Exception as fault:  # noqa: BLE001 - whatever the room or the page raises is the face's fault
            if not self._failing:
                self._failing = True
                self._on_fault(_undelivered(fault))
        else:
            self._failing = False


def _undelivered(fault: Exception) -> AvatarError:
    if isinstance(fault, AvatarError):
        return fault
    what = "not in time" if isinstance(fault, TimeoutError) else f"{type(fault).__name__}: {fault}"
    return AvatarError(
        "ERR_AVATAR_DELIVERY",
        f"Something did not reach the face ({what}).",
        "Check that whoever shows the face is connected.",
        fault,
    )
