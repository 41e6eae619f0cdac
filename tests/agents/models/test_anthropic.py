"""Claude through the real SDK, against a server on this machine."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.base.errors import ConfigError, GloveError
from agents.core.events import ModelResponseComplete, TextDelta, ToolUse
from agents.core.glove import Glove
from agents.core.messages import Message, ToolCall, ToolResult, ToolResultData
from agents.core.model import PromptRequest, ToolSpec
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.anthropic import AnthropicModel
from tests.agents.core.scene import Ear
from tests.agents.models import fake_anthropic as fake
from tests.agents.models.asking import abort_at_first_word, ask, refusal, user

KEY = "sk-very-secret"


def model_at(server: Any, **options: Any) -> AnthropicModel:
    return AnthropicModel("claude-test", KEY, base_url=server.url, max_retries=0, **options)


@pytest.mark.realtime
async def test_words_arrive_as_they_are_said_and_are_counted() -> None:
    counted = fake.start(11, cache_creation_input_tokens=3, cache_read_input_tokens=4)
    answer = fake.Answer([counted, *fake.text(0, "Good ", "morning."), *fake.end()])
    async with fake.FakeAnthropic([answer]).running() as server:
        result, events = await ask(model_at(server), user("hi"), reply_id="r1")
    assert [e for e in events if isinstance(e, TextDelta)] == [TextDelta("Good ", "r1"), TextDelta("morning.", "r1")]
    assert events[-1] == ModelResponseComplete("Good morning.", "r1", (), "end_turn")
    assert (result.messages[0].text, result.messages[0].id) == ("Good morning.", "r1")
    usage = result.usage
    assert (usage.tokens_in, usage.tokens_out) == (11, 7)
    assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (3, 4)
    assert any(KEY in value for value in server.headers[0].values())


@pytest.mark.realtime
async def test_an_agent_runs_a_tool_and_answers_from_its_result() -> None:
    async def weather(_: NoArgs, __: ToolContext) -> dict[str, str]:
        return {"sky": "grey"}

    first = fake.Answer([
        fake.start(), *fake.text(0, "Let me look. "), *fake.call(1, "toolu_1", "weather", '{"pla', 'ce": "Bath"}'),
        *fake.call(2, "toolu_2", "weather"), *fake.end("tool_use"),
    ])  # fmt: skip
    async with fake.FakeAnthropic([first, fake.says("It is grey.")]).running() as server:
        model, ear = model_at(server), Ear()
        glove = Glove(model=model, system_prompt="Be brief.").fold(Tool("weather", "Looks outside.", weather, NoArgs))
        reply = await glove.add_subscriber(ear).build().process_request("weather?")
        await model.close()
    assert reply.text == "It is grey."
    used = [event for event in ear.events if isinstance(event, ToolUse)]
    assert [(event.id, event.input) for event in used] == [("toolu_1", {"place": "Bath"}), ("toolu_2", {})]
    question, said, results = server.bodies[1]["messages"]
    assert question["content"][0]["text"] == "weather?"
    assert [block["type"] for block in said["content"]] == ["text", "tool_use", "tool_use"]
    assert [(b["tool_use_id"], b["content"]) for b in results["content"]] == [
        ("toolu_1", '{"sky": "grey"}'),
        ("toolu_2", '{"sky": "grey"}'),
    ]


@pytest.mark.realtime
async def test_an_abort_closes_the_stream_at_once() -> None:
    answer = fake.Answer([fake.start(), *fake.text(0, "Once upon a time")], hang=True)
    async with fake.FakeAnthropic([answer]).running() as server:
        await abort_at_first_word(server, model_at(server))


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, "authentication_error", "ERR_MODEL_AUTH"),
        (403, "permission_error", "ERR_MODEL_AUTH"),
        (429, "rate_limit_error", "ERR_MODEL_RATE_LIMIT"),
        (529, "overloaded_error", "ERR_MODEL_RATE_LIMIT"),
        (500, "api_error", "ERR_MODEL_UNREACHABLE"),
        (400, "invalid_request_error", "ERR_MODEL_REQUEST"),
        (404, "not_found_error", "ERR_MODEL_REQUEST"),
    ],
)
async def test_refusals_have_a_code_and_no_secret(status: int, kind: str, code: str) -> None:
    body = {"type": "error", "error": {"type": kind, "message": f"no luck with {KEY}"}}
    async with fake.FakeAnthropic([fake.Answer(status=status, body=body)]).running() as server:
        fault = await refusal(model_at(server), KEY)
    assert fault.code == code
    assert "no luck with ***" in fault.message


@pytest.mark.realtime
async def test_trouble_in_mid_reply_is_told_apart_from_an_end() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    begun = [fake.start(), *fake.text(0, "Well, ")]
    troubles = {
        "ERR_MODEL_RATE_LIMIT": fake.Answer([*begun, overloaded]),
        "ERR_MODEL_UNREACHABLE": fake.Answer(begun, drop=True),
    }
    for code, answer in troubles.items():
        async with fake.FakeAnthropic([answer]).running() as server:
            with pytest.raises(GloveError) as trouble:
                await ask(model_at(server), user("hi"))
        assert trouble.value.code == code
    async with fake.FakeAnthropic([fake.Answer(begun)]).running() as server:
        with pytest.raises(GloveError) as cut:
            await ask(model_at(server), user("hi"))
    assert cut.value.code == "ERR_MODEL_UNREACHABLE"


@pytest.mark.realtime
async def test_a_server_that_is_not_there_and_a_key_that_is_not_set() -> None:
    async with fake.FakeAnthropic([]).running() as server:
        gone = server.url
    with pytest.raises(GloveError) as unreachable:
        await ask(AnthropicModel("m", KEY, base_url=gone, max_retries=0), user("hi"))
    assert unreachable.value.code == "ERR_MODEL_UNREACHABLE"
    with pytest.raises(GloveError) as no_key:
        await ask(AnthropicModel("m"), user("hi"))
    assert no_key.value.code == "ERR_MODEL_AUTH"


@pytest.mark.realtime
async def test_what_stays_is_marked_for_the_cache_and_what_passes_is_not() -> None:
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
    frozen = Message(sender="user", text="plan: free", framework_context="runtime")
    fresh = Message(sender="user", text="build is red", framework_context="runtime")
    history = [user("one"), Message(sender="agent", text="two"), frozen, user("three"), fresh]
    async with fake.FakeAnthropic([fake.says("ok")]).running() as server:
        await ask(model_at(server), *history, tools=(tool,))
    body = server.bodies[0]
    marks = [(b["text"], b.get("cache_control")) for m in body["messages"] for b in m["content"]]
    kept = {"type": "ephemeral", "ttl": "5m"}
    assert marks == [("one", None), ("two", kept), ("plan: free", None), ("three", kept), ("build is red", None)]
    assert body["system"][-1]["cache_control"] == kept
    assert "cache_control" not in body["tools"][-1]


@pytest.mark.realtime
async def test_caching_can_be_longer_off_or_on_tools_alone() -> None:
    tool = ToolSpec("look", "Looks.", {})
    async with fake.FakeAnthropic([fake.says("ok"), fake.says("ok")]).running() as server:
        model = model_at(server, cache="1h")
        await model.prompt(PromptRequest("", [user("hi")], (tool,)), Ear().record, AbortToken())
        await model.close()
        await ask(model_at(server, cache=False), user("hi"), tools=(tool,))
    marked, plain = server.bodies
    assert marked["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "system" not in marked
    assert "cache_control" not in str(plain)


@pytest.mark.realtime
async def test_thoughts_are_kept_and_handed_back_with_their_tool_call() -> None:
    thinking = fake.block(
        0, {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Hm, "}, {"type": "thinking_delta", "thinking": "look."},
        {"type": "signature_delta", "signature": "sig"},
    )  # fmt: skip
    first = fake.Answer([fake.start(), *thinking, *fake.call(1, "toolu_1", "look", "{}"), *fake.end("tool_use")])
    async with fake.FakeAnthropic([first, fake.says("ok")]).running() as server:
        result, events = await ask(model_at(server, thinking=2048), user("hi"))
        assert not any(isinstance(event, TextDelta) for event in events)
        said = result.messages[0]
        assert said.reasoning_content == "Hm, look."
        seen = Message(
            sender="user",
            text="tool results",
            tool_results=[ToolResult(tool_name="look", call_id="toolu_1", result=ToolResultData(data="a wall"))],
        )
        await ask(model_at(server, thinking=2048), user("hi"), said, seen)
    assert server.bodies[0]["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    handed_back = server.bodies[1]["messages"][1]["content"]
    assert handed_back[0] == {"type": "thinking", "thinking": "Hm, look.", "signature": "sig"}
    with pytest.raises(ConfigError):
        AnthropicModel("m", KEY, thinking=100)


@pytest.mark.realtime
async def test_histories_from_elsewhere_are_made_acceptable() -> None:
    history = [
        Message(sender="agent", text="Good morning!"),
        user("look"),
        Message(sender="agent", tool_calls=[ToolCall(tool_name="look", input_args="up", id="call:1/x")]),
        user("never mind"),
    ]
    async with fake.FakeAnthropic([fake.says("ok")]).running() as server:
        await ask(model_at(server), *history)
    messages = server.bodies[0]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    made, answered = messages[3]["content"][0], messages[4]["content"]
    assert made["input"] == {"input": "up"}
    assert made["id"] == answered[0]["tool_use_id"] == "call_1_x_31391c7f"
    assert (answered[0]["is_error"], answered[1]["text"]) == (True, "never mind")
