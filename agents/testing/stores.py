"""Stores that fail or are interrupted at an exact moment, around any store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Container
from typing import Any

from agents.base.errors import GloveError
from agents.core.store import StoreAdapter

OPERATIONS = frozenset(
    name
    for name in dict(inspect.getmembers(StoreAdapter, inspect.iscoroutinefunction))
    if name not in ("close", "create_sub_agent_store")
)
"""The names of all operations that are counted."""


class _Tapped(StoreAdapter):
    """Passes every operation on to ``inner``, through ``tap``."""

    def __init__(self, inner: StoreAdapter) -> None:
        self.inner = inner
        self.identifier = inner.identifier
        self.supports = inner.supports
        self.operations: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name in OPERATIONS:
            return _operation(self, name)
        return super().__getattribute__(name)

    async def create_sub_agent_store(self, namespace: str, durable: bool = False) -> StoreAdapter:
        """The inner store's; it is not tapped."""
        return await self.inner.create_sub_agent_store(namespace, durable)

    async def close(self) -> None:
        """Close the inner store."""
        await self.inner.close()

    async def tap(self, number: int, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do operation ``number`` by calling ``work``, or not."""
        raise NotImplementedError


# What the contract demands is there, though not by name.
_Tapped.__abstractmethods__ = frozenset()


def _operation(store: _Tapped, name: str) -> Callable[..., Awaitable[Any]]:
    async def run(*arguments: Any, **named: Any) -> Any:
        store.operations.append(name)
        target = getattr(store.inner, name)
        return await store.tap(len(store.operations), lambda: target(*arguments, **named))

    return run


class FaultyStore(_Tapped):
    """Fails at chosen operations, which then change nothing, and works at all others.

    Args:
        inner: the store that does the work.
        at: numbers of the operations that fail, counted from one.
        error: what they raise; a full disk when None.

    ``operations`` holds the names of all operations so far. Operations take a turn of the loop, as on a real disk.
    """

    def __init__(self, inner: StoreAdapter, at: Container[int] = (), error: Exception | None = None) -> None:
        super().__init__(inner)
        self.at = at
        self.error = error or GloveError("ERR_STORE_FULL", "There is no room left.", "Free some disk space.")

    async def tap(self, number: int, work: Callable[[], Awaitable[Any]]) -> Any:
        """See the class."""
        await asyncio.sleep(0)
        if number in self.at:
            raise self.error
        return await work()


class InterruptingStore(_Tapped):
    """Does something at an exact moment: before or after one of its operations.

    Args:
        inner: the store that does the work.
        at: number of the operation, counted from one.
        action: what to do then, for example ``abort.abort``.
        after: whether the operation is done first.
    """

    def __init__(self, inner: StoreAdapter, at: int, action: Callable[[], object], *, after: bool = False) -> None:
        super().__init__(inner)
        self._at = at
        self._action = action
        self._after = after

    async def tap(self, number: int, work: Callable[[], Awaitable[Any]]) -> Any:
        """See the class."""
        await asyncio.sleep(0)
        if number == self._at and not self._after:
            self._action()
        result = await work()
        if number == self._at and self._after:
            self._action()
        await asyncio.sleep(0)
        return result
