"""Old tool results in short form: what the user's newest words did not ask for need not be read again in full."""

from __future__ import annotations

from collections.abc import Sequence

from agents.core.messages import Message


def is_human(message: Message) -> bool:
    """Whether a person said this: a user message that neither the framework nor a tool wrote."""
    return (
        message.sender == "user"
        and not message.tool_results
        and message.framework_context is None
        and not (message.is_skill_injection or message.is_compaction or message.is_compaction_request)
    )


def with_summaries(messages: Sequence[Message]) -> list[Message]:
    """Copies of ``messages`` in which results up to the last human message carry ``summary`` as their ``data``."""
    boundary = max((index for index, message in enumerate(messages) if is_human(message)), default=-1)
    return [_shortened(message) if index <= boundary else message for index, message in enumerate(messages)]


def _shortened(message: Message) -> Message:
    if not any(result.result.summary for result in message.tool_results or ()):
        return message
    copy = message.model_copy(deep=True)
    for result in copy.tool_results or ():
        if result.result.summary:
            result.result.data = result.result.summary
    return copy
