"""What a request to Bedrock holds."""

from __future__ import annotations

from typing import Any

import pytest

from agents.core.messages import Message, ToolCall, ToolResult, ToolResultData
from agents.core.model import PromptRequest, ToolSpec
from agents.models.bedrock_request import build, caches
from agents.models.caching import cuts
from tests.agents.models.asking import user

CLAUDE = "eu.anthropic.claude-sonnet-4-20250514-v1:0"
NOVA = "us.amazon.nova-pro-v1:0"
LOOK = ToolSpec("look", "Looks.", {})


def wire(*messages: Message, model: str = CLAUDE, cache: Any = "5m", tools: Any = (LOOK,)) -> Any:
    request = PromptRequest("S", messages, tools)
    return build(request, model=model, max_tokens=5, cache=cache, thinking=None)


def test_the_cache_may_cut_behind_system_tools_saved_blocks_and_before_what_is_frozen() -> None:
    frozen = user("plan: free", framework_context="runtime")
    fresh = user("build is red", framework_context="runtime")
    sent = wire(user("one"), Message(sender="agent", text="two"), frozen, user("three"), fresh)
    cut = {"cachePoint": {"type": "default", "ttl": "5m"}}
    assert sent["system"] == [{"text": "S"}, cut]
    assert sent["toolConfig"]["tools"][-1] == cut
    assert [message["content"] for message in sent["messages"]] == [
        [{"text": "one"}],
        [{"text": "two"}, cut],
        [{"text": "plan: free"}, {"text": "three"}, cut, {"text": "build is red"}],
    ]


def test_amazons_own_models_take_fewer_and_plainer_marks() -> None:
    sent = wire(user("hi"), model=NOVA, cache="1h")
    assert sent["system"][-1] == {"cachePoint": {"type": "default"}}
    assert len(sent["toolConfig"]["tools"]) == 1


def test_nothing_is_marked_unasked() -> None:
    assert "cachePoint" not in str(wire(user("hi"), cache=None))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CLAUDE, True),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        (NOVA, True),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", False),
        ("meta.llama3-1-70b-instruct-v1:0", False),
        ("mistral.mistral-large-2407-v1:0", False),
    ],
)
def test_only_models_that_know_marks_get_them_by_default(model: str, expected: bool) -> None:
    assert caches(model) is expected


def test_results_that_failed_say_so_and_none_is_empty() -> None:
    calls = [ToolCall(tool_name="look", input_args={}, id=name) for name in ("a", "b")]
    results = [
        ToolResult(tool_name="look", call_id="a", result=ToolResultData(status="error", message="It is dark.")),
        ToolResult(tool_name="look", call_id="b", result=ToolResultData(data="")),
    ]
    sent = wire(user("go"), Message(sender="agent", tool_calls=calls), user("r", tool_results=results), cache=None)
    failed, empty = (block["toolResult"] for block in sent["messages"][2]["content"])
    assert failed == {"toolUseId": "a", "content": [{"text": "Error: It is dark."}], "status": "error"}
    assert empty == {"toolUseId": "b", "content": [{"text": "(nothing)"}]}


def test_a_history_with_calls_names_its_tools_also_where_none_is_offered() -> None:
    call = ToolCall(tool_name="look", input_args="", id="a")
    sent = wire(user("go"), Message(sender="agent", tool_calls=[call]), tools=(), cache=None)
    assert [tool["toolSpec"]["name"] for tool in sent["toolConfig"]["tools"]] == ["look"]
    assert sent["messages"][1]["content"] == [{"toolUse": {"toolUseId": "a", "name": "look", "input": {}}}]
    assert "toolConfig" not in wire(user("go"), tools=(), cache=None)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ("", []),
        ("s", [0]),
        ("ss", [1]),
        ("st", [0]),
        ("sts", [0, 2]),
        ("stst", [0, 2]),
        ("ts", [1]),
        ("tt", []),
        ("sx", [0]),
        ("sxts", [0, 3]),
        ("x", []),
    ],
)
def test_where_a_conversation_may_be_cut(blocks: str, expected: list[int]) -> None:
    """s is saved, t transient, x saved but unable to end a prefix."""
    assert cuts([(block == "t", block != "x") for block in blocks]) == expected
