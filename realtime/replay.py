"""A conversation as the history that a new session begins with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agents.core.messages import Message, ToolResult
from realtime.s2s.contract import HistoryItem

MOST_ITEMS = 80
MOST_CHARS = 24_000
"""The newest part of a long conversation, in messages and characters: a session has to take all of it at once."""

_RESULT_CHARS = 1_000


def replayed(messages: Sequence[Message]) -> tuple[HistoryItem, ...]:
    """``messages`` as a realtime model is told of them, oldest first, without what is too long ago.

    Tool calls and their results become notes of the system; what was not heard of a reply is not in the record.
    """
    items = [item for message in messages for item in _items(message)]
    kept: list[HistoryItem] = []
    chars = 0
    for item in reversed(items):
        chars += len(item.text)
        if len(kept) >= MOST_ITEMS or (kept and chars > MOST_CHARS):
            break
        kept.append(item)
    return tuple(reversed(kept))


def _items(message: Message) -> list[HistoryItem]:
    items: list[HistoryItem] = []
    if message.tool_results:
        items += [HistoryItem("system", _result(result)) for result in message.tool_results]
    elif message.text.strip():
        role = "assistant" if message.sender == "agent" else "user"
        aside = message.framework_context is not None or message.is_compaction or message.is_skill_injection
        items.append(HistoryItem("system" if aside else role, message.text.strip()))
    return items


def _result(result: ToolResult) -> str:
    told = json.dumps(for_model(result), ensure_ascii=False)
    return f"[Your tool {result.tool_name} gave: {told[:_RESULT_CHARS]}]"


def for_model(result: ToolResult) -> dict[str, object]:
    """What a model is told of a result: without what is for screens, for older context and for voices."""
    data = result.result
    return {"status": data.status, "data": data.data, "message": data.message}
