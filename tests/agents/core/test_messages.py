"""Copies of messages share nothing that can change, and are messages in every respect."""

from __future__ import annotations

from datetime import date
from typing import Any

from agents.core.messages import ContentPart, Message, Source, ToolCall, ToolResult, ToolResultData


def test_a_copy_is_equal_and_shares_nothing_that_can_change() -> None:
    fields: dict[str, Any] = {"of_the_future": {"list": [1, {"deep": True}]}, "day": date(2030, 1, 2)}
    message = Message.model_validate(
        {
            "sender": "agent",
            "text": "as it was",
            "content": [ContentPart(type="image", source=Source(type="url", url="https://example.org"))],
            "tool_calls": [ToolCall(tool_name="t", input_args={"in": [{"a": 1}]}, provider_options={"p": {}})],
            "tool_results": [ToolResult(tool_name="t", result=ToolResultData(data=[[1]]))],
            **fields,
        }
    )
    written = message.model_dump_json()
    copy = message.model_copy(deep=True)
    assert copy == message
    assert copy.model_dump_json() == written
    assert copy.model_fields_set == message.model_fields_set
    assert copy.content and copy.content[0].source and copy.tool_calls and copy.tool_results and copy.model_extra
    copy.text = "changed"
    copy.content[0].source.url = "https://example.com"
    copy.tool_calls[0].input_args["in"][0]["a"] = 2
    copy.tool_results[0].result.data[0].append(2)
    copy.model_extra["of_the_future"]["list"][1]["deep"] = False
    copy.is_compaction = True
    assert message.model_dump_json() == written
    assert "is_compaction" not in message.model_fields_set
