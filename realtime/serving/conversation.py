"""The conversation of a session: its items, in order."""

from __future__ import annotations

from collections.abc import Iterator

from realtime.serving.items import Item
from realtime.serving.refusal import Refusal

FIRST = "root"
"""In the place of the id of a previous item: before all others."""


class Conversation:
    """Items in order, of which the oldest are forgotten.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item, after: str | None = None) -> str | None:
        """Put ``item`` behind ``after``, or at the end. Returns the id of the item that is now before it.

        Raises ``Refusal`` where its id is taken, where there is no ``after``, and for the result of an unknown call.
        """
        if self.find(item.id) is not None:
            raise Refusal("item_create_duplicate_id", f"There is an item {item.id} already.", param="item.id")
        if item.kind == "function_call_output" and not self._has_call(item.call_id):
            raise Refusal("invalid_tool_call_id", f"There is no call {item.call_id}.", param="item.call_id")
        at = self._place_behind(after)
        self._items.insert(at, item)
        before = self._items[at - 1].id if at else None
        if len(self._items) > self._most:
            del self._items[0]
        return before

    def find(self, item_id: str) -> Item | None:
        """The item of that id."""
        return next((item for item in self._items if item.id == item_id), None)

    def get(self, item_id: str, doing: str) -> Item:
        """The same. Raises ``Refusal`` where there is none; ``doing`` is what was to be done with it."""
        item = self.find(item_id)
        if item is None:
            message = f"There is no item {item_id} in the conversation."
            raise Refusal(f"item_{doing}_invalid_item_id", message, param="item_id")
        return item

    def remove(self, item: Item) -> None:
        """Take ``item`` out."""
        self._items.remove(item)

    def before(self, item: Item) -> str | None:
        """The id of the item before ``item``."""
        at = next((index for index, one in enumerate(self._items) if one is item), 0)
        return self._items[at - 1].id if at else None

    def _has_call(self, call_id: str) -> bool:
        return any(item.kind == "function_call" and item.call_id == call_id for item in self._items)

    def _place_behind(self, after: str | None) -> int:
        if after is None:
            return len(self._items)
        if after == FIRST:
            return 0
        for index, item in enumerate(self._items):
            if item.id == after:
                return index + 1
        message = f"There is no item {after} in the conversation."
        raise Refusal("item_create_invalid_previous_item_id", message, param="previous_item_id")
