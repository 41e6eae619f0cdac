"""Words that come in pieces."""

from __future__ import annotations


class Words:
    """The words so far of each stretch of speech."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def add(self, item_id: str, piece: str) -> None:
        """More words of ``item_id``."""
        self._pieces.setdefault(item_id, []).append(piece)

    def take(self, item_id: str) -> str:
        """All words of ``item_id``, which are then forgotten."""
        return "".join(self._pieces.pop(item_id, []))

    def clear(self) -> None:
        """Forget all words."""
        self._pieces.clear()
