"""Where a provider may cut a prompt for its cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

CacheTtl = Literal["5m", "1h"]
"""How long a provider keeps a prefix after its last use."""


def cache_ttl(cache: bool | CacheTtl) -> CacheTtl | None:
    """A setting of the prompt cache as its time to live: True means 5 minutes, False that nothing is marked."""
    if isinstance(cache, bool):
        return "5m" if cache else None
    return cache


def cuts(blocks: Sequence[tuple[bool, bool]]) -> list[int]:
    """Indexes of the blocks behind which a conversation may be cut: at most two, ascending.

    Each block is (transient, may end a prefix). One cut is behind the last saved block; another behind the last one
    before transient blocks that saved ones follow, because that prefix is what the next request begins with once the
    transient blocks in between are gone.
    """
    saved = [index for index, (transient, ends) in enumerate(blocks) if ends and not transient]
    if not saved:
        return []
    first_transient = next((index for index, (transient, _) in enumerate(blocks) if transient), len(blocks))
    before = [index for index in saved if index < first_transient]
    return sorted({*before[-1:], saved[-1]})
