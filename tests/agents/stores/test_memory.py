"""The store in memory does what every store must."""

from __future__ import annotations

from agents.core.store_conformance import CHECKS, check_store
from agents.stores.memory import MemoryStore


async def test_does_what_every_store_must() -> None:
    async def make() -> MemoryStore:
        return MemoryStore()

    assert len(await check_store(make)) == len(CHECKS)
