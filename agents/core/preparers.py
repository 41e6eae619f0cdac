"""Work that must be done before any turn, whoever starts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agents.base.abort import AbortToken
from agents.core.foreign import call

TurnPreparer = Callable[[AbortToken], Awaitable[object] | object]
"""Called before a turn with the turn's abort token; sync or async."""


class TurnPreparers:
    """The preparers of one agent, in order of registration."""

    def __init__(self) -> None:
        self._preparers: tuple[TurnPreparer, ...] = ()

    def add(self, preparer: TurnPreparer) -> Callable[[], None]:
        """Run ``preparer`` before every turn from now on. Returns a function that removes it again."""
        self._preparers = (*self._preparers, preparer)
        removed = False

        def remove() -> None:
            nonlocal removed
            if not removed:
                removed = True
                place = self._preparers.index(preparer)
                self._preparers = (*self._preparers[:place], *self._preparers[place + 1 :])

        return remove

    async def run(self, abort: AbortToken) -> None:
        """Run all of them, one after the other; raises as ``call`` does."""
        for preparer in self._preparers:
            await call(preparer, abort, "Work that comes before a turn")
