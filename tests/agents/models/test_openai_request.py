"""What a Chat Completions request holds."""

from __future__ import annotations

from typing import Any

from agents.core.messages import ContentPart, Message, Source, ToolCall, ToolResult, ToolResultData
from agents.core.model import PromptRequest
from agents.models.openai_request import Dialect, build
from agents.models.think_tags import ThinkTags
from tests.agents.models.asking import user


def wires(*messages: Message, dialect: Dialect | None = None, cache: Any = None, system: str = "S") -> list[Any]:
    wire = build(PromptRequest(system, messages), model="m", max_tokens=5, dialect=dialect or Dialect(), cache=cache)
    return wire["messages"]


def test_results_come_right_behind_their_calls_and_what_is_missing_is_made_up() -> None:
    calls = [ToolCall(tool_name="a", input_args={"x": "ä"}, id="1"), ToolCall(tool_name="b", id="2")]
    result = ToolResult(tool_name="a", call_id="1", result=ToolResultData(status="error", message="no"))
    sent = wires(
        user("go"),
        Message(sender="agent", tool_calls=calls),
        user("tool results", tool_results=[result, result]),
        user("<events/>", framework_context="event"),
    )
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] is None
    assert sent[2]["tool_calls"][0]["function"]["arguments"] == '{"x": "ä"}'
    assert [(m["tool_call_id"], m["content"]) for m in sent[3:5]] == [("1", "Error: no"), ("2", "No result available")]
    assert sent[5]["content"] == "<events/>"


def test_neighbouring_messages_of_the_user_are_one() -> None:
    image = ContentPart(type="image", source=Source(type="base64", data="AAAA", media_type="image/jpeg"))
    assert wires(user("a"), user("b"))[1]["content"] == "a\nb"
    parts = wires(user("a"), user("see", content=[ContentPart(type="text", text="see"), image]))[1]["content"]
    assert [part["type"] for part in parts] == ["text", "text", "image_url"]
    assert parts[2]["image_url"]["url"] == "data:image/jpeg;base64,AAAA"


def test_media_that_a_provider_does_not_take_become_a_note() -> None:
    def part(kind: Any, **source: Any) -> Message:
        return user("", content=[ContentPart(type=kind, name="n", source=Source(type="base64", **source))])

    audio = part("audio", data="AA", media_type="audio/mpeg")
    document = part("document", data="AA", media_type="application/pdf")
    everything = Dialect("x", media=frozenset({"image", "audio", "document", "video"}))
    assert wires(audio)[1]["content"] == "[Attachment omitted: n (audio/mpeg)]"
    assert wires(audio, dialect=everything)[1]["content"][0]["input_audio"] == {"data": "AA", "format": "mp3"}
    file = wires(document, dialect=everything)[1]["content"][0]["file"]
    assert file == {"filename": "n", "file_data": "data:application/pdf;base64,AA"}


def test_marks_for_the_cache_are_for_those_who_read_them_and_never_behind_what_is_transient() -> None:
    openrouter = Dialect("openrouter", cache_marks=True)
    control = {"type": "ephemeral", "ttl": "5m"}
    system, asked = wires(user("hi"), dialect=openrouter, cache="5m")
    assert system["content"] == [{"type": "text", "text": "S", "cache_control": control}]
    assert asked["content"] == [{"type": "text", "text": "hi", "cache_control": control}]
    _, asked = wires(user("hi"), user("now", framework_context="runtime"), dialect=openrouter, cache="5m")
    assert asked["content"] == "hi\nnow"
    assert all("cache_control" not in str(message) for message in wires(user("hi"), cache="5m"))


def test_a_length_is_limited_by_the_field_that_the_provider_knows() -> None:
    wire = build(PromptRequest("", [user("x")]), model="m", max_tokens=5, dialect=Dialect("openai", token_field="q"))
    assert wire["q"] == 5
    assert [message["role"] for message in wire["messages"]] == ["user"]


def test_tags_may_break_anywhere() -> None:
    text = " \n<think>a < b</b></think>\n\n The <think> answer."
    for size in range(1, len(text) + 1):
        tags, thought, said = ThinkTags(), "", ""
        for start in range(0, len(text), size):
            more = tags.take(text[start : start + size])
            thought, said = thought + more[0], said + more[1]
        rest = tags.end()
        assert (thought + rest[0], said + rest[1]) == ("a < b</b>", "The <think> answer.")


def test_a_thought_that_never_ends_is_not_an_answer() -> None:
    tags = ThinkTags()
    assert tags.take("<think>hm</thi") == ("hm", "")
    assert tags.end() == ("</thi", "")
    other = ThinkTags()
    assert other.take("<thi") == ("", "")
    assert other.end() == ("", "<thi")
