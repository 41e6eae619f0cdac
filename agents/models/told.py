"""What there is to answer, for whoever answers without a language model: the newest message, events in words."""

from __future__ import annotations

from collections.abc import Sequence

from agents.core.messages import Message


def newest(messages: Sequence[Message]) -> Message | None:
    """The newest message that is part of the conversation, and not context that the framework put beside it."""
    return next((message for message in reversed(messages) if message.framework_context != "runtime"), None)


def news(messages: Sequence[Message]) -> list[str]:
    """The words of the events in ``messages`` that came after the last answer, oldest first."""
    told: list[str] = []
    for message in reversed(messages):
        if message.is_compaction or (message.sender == "agent" and not message.tool_calls):
            break
        told[:0] = [event.text.strip() for event in message.events or () if event.text.strip()]
    return told
