"""Only what a person says makes earlier results old; what the framework or a tool wrote does not."""

from __future__ import annotations

from typing import Any

import pytest

from agents.core.messages import Message, ToolCall, ToolResult, ToolResultData
from agents.core.summaries import is_human, with_summaries

CALL = Message(sender="agent", tool_calls=[ToolCall(tool_name="look", id="c1")])
RESULT = Message(
    sender="user",
    text="tool results",
    tool_results=[ToolResult(tool_name="look", call_id="c1", result=ToolResultData(data="long", summary="short"))],
)
QUESTION = Message(sender="user", text="look")


def data(messages: list[Message]) -> list[str]:
    return [result.result.data for message in messages for result in message.tool_results or ()]


@pytest.mark.parametrize(
    "fields",
    [
        {"framework_context": "runtime"},
        {"framework_context": "runtime", "delivery": "history"},
        {"framework_context": "inbox"},
        {"framework_context": "event"},
        {"framework_context": "notice"},
        {"is_skill_injection": True},
        {"is_compaction": True},
        {"is_compaction_request": True},
        {"tool_results": RESULT.tool_results},
        {"sender": "agent"},
    ],
)
def test_what_no_person_said_leaves_results_as_they_are(fields: dict[str, Any]) -> None:
    other = Message.model_validate({"sender": "user", "text": "x", **fields})
    assert not is_human(other)
    assert set(data(with_summaries([QUESTION, CALL, RESULT, other]))) == {"long"}


def test_a_persons_next_words_make_results_old_and_history_keeps_them() -> None:
    history = [QUESTION, CALL, RESULT, Message(sender="agent", text="seen"), Message(sender="user", text="and now?")]
    sent = with_summaries([*history, CALL, RESULT])
    assert data(sent) == ["short", "long"]
    assert data(history) == ["long"]
    assert with_summaries([CALL, RESULT]) == [CALL, RESULT]
