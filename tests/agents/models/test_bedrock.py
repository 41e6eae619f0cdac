"""Models on Bedrock through Amazon's real SDK, against a server on this machine."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from agents.base.errors import ConfigError, GloveError
from agents.core.events import ModelProgress, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.glove import Glove
from agents.core.messages import Message, ToolResult, ToolResultData
from agents.core.model import ToolSpec
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.bedrock import AwsKeys, BedrockModel
from tests.agents.core.scene import Ear
from tests.agents.models import fake_bedrock as fake
from tests.agents.models.asking import abort_at_first_word, ask, refusal, user
from tests.agents.models.fake_server import Answer

pytestmark = pytest.mark.realtime

KEYS = AwsKeys("AKIAVERYPRIVATE", "very-secret-key", "very-secret-session")
CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"


def model_at(server: fake.FakeBedrock, model: str = CLAUDE, **options: Any) -> BedrockModel:
    return BedrockModel(model, KEYS, base_url=server.url, **{"max_retries": 0, **options})


async def test_words_arrive_as_they_are_said_and_are_counted() -> None:
    counted = fake.end(cacheReadInputTokens=4, cacheWriteInputTokens=3)
    answer = Answer([*fake.begin(), *fake.text(0, "Good ", "morning."), *counted])
    async with fake.FakeBedrock([answer]).running() as server:
        result, events = await ask(model_at(server), user("hi"), reply_id="r1")
    assert events == [
        TextDelta("Good ", "r1"),
        TextDelta("morning.", "r1"),
        ModelResponseComplete("Good morning.", "r1", (), "end_turn"),
    ]
    assert (result.messages[0].text, result.messages[0].id) == ("Good morning.", "r1")
    usage = result.usage
    assert (usage.tokens_in, usage.tokens_out) == (10, 7)
    assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (3, 4)
    assert server.paths == ["/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream"]
    assert "AKIAVERYPRIVATE" in server.headers[0]["authorization"]
    assert "/us-east-1/bedrock/" in server.headers[0]["authorization"]
    assert server.bodies[0]["inferenceConfig"] == {"maxTokens": 8192}


async def test_an_agent_runs_two_tools_whose_arguments_come_in_pieces() -> None:
    async def weather(_: NoArgs, __: ToolContext) -> dict[str, str]:
        return {"sky": "grey"}

    interleaved = fake.call(1, "tooluse_1", "weather", '{"pla', 'ce": "Bath"}')
    other = fake.call(2, "tooluse_2", "weather")
    first = Answer([
        *fake.begin(), *fake.text(0, "Let me look. "), interleaved[0], other[0], *interleaved[1:], *other[1:],
        *fake.end("tool_use"),
    ])  # fmt: skip
    async with fake.FakeBedrock([first, fake.says("It is grey.")]).running() as server:
        model, ear = model_at(server), Ear()
        glove = Glove(model=model, system_prompt="Be brief.").fold(Tool("weather", "Looks outside.", weather, NoArgs))
        reply = await glove.add_subscriber(ear).build().process_request("weather?")
        await model.close()
    assert reply.text == "It is grey."
    used = [(event.id, event.input) for event in ear.of(ToolUse)]
    assert used == [("tooluse_1", {"place": "Bath"}), ("tooluse_2", {})]
    said, results = server.bodies[1]["messages"][1:]
    assert [block["toolUse"]["input"] for block in said["content"][1:]] == [{"place": "Bath"}, {}]
    assert [block["toolResult"] for block in results["content"][:2]] == [
        {"toolUseId": "tooluse_1", "content": [{"text": '{"sky": "grey"}'}]},
        {"toolUseId": "tooluse_2", "content": [{"text": '{"sky": "grey"}'}]},
    ]


async def test_a_model_that_does_not_stream_answers_at_once() -> None:
    call = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": 1}}}
    async with fake.FakeBedrock([fake.whole({"text": "Hi."}, call, stop_reason="tool_use")]).running() as server:
        result, events = await ask(model_at(server, stream=False), user("go"), reply_id="r1")
    assert server.paths[0].endswith("/converse")
    assert [type(event) for event in events] == [ModelResponse]
    assert (result.messages[0].text, (result.messages[0].tool_calls or [])[0].input_args) == ("Hi.", {"a": 1})
    assert (result.usage.tokens_out, result.stop_reason) == (7, "tool_use")


async def test_an_abort_closes_the_connection_at_once() -> None:
    answer = Answer([*fake.begin(), *fake.text(0, "Once upon a time")], hang=True)
    async with fake.FakeBedrock([answer]).running() as server:
        await abort_at_first_word(server, model_at(server))


async def test_thoughts_are_kept_and_handed_back_to_the_model_that_had_them() -> None:
    first = Answer([
        *fake.begin(),
        *fake.thought(0, {"text": "Hm, "}, {"text": "look."}, {"signature": "sig"}),
        *fake.thought(1, {"redactedContent": "c2VjcmV0"}),
        *fake.call(2, "t1", "look", "{}"),
        *fake.end("tool_use"),
    ])  # fmt: skip
    tool = ToolSpec("look", "Looks.", {})
    async with fake.FakeBedrock([first, fake.says("ok"), fake.says("ok")]).running() as server:
        result, events = await ask(model_at(server, thinking=2048), user("hi"), tools=(tool,))
        assert isinstance(events[0], ModelProgress)
        assert not any(isinstance(event, TextDelta) for event in events)
        said = result.messages[0]
        assert said.reasoning_content == "Hm, look."
        stored = Message.model_validate_json(said.model_dump_json())
        seen = ToolResult(tool_name="look", call_id="t1", result=ToolResultData(data="a wall"))
        history = (user("hi"), stored, user("tool results", tool_results=[seen]))
        await ask(model_at(server, thinking=2048), *history, tools=(tool,))
        await ask(model_at(server, "us.amazon.nova-pro-v1:0", thinking=2048), *history, tools=(tool,))
    asked, handed_back, elsewhere = server.bodies
    assert asked["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    assert handed_back["messages"][1]["content"][:2] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm, look.", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
    ]
    assert "additionalModelRequestFields" in handed_back
    assert "reasoningContent" not in str(elsewhere["messages"])
    assert "additionalModelRequestFields" not in elsewhere


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (403, "AccessDeniedException", "ERR_MODEL_AUTH"),
        (403, "ExpiredTokenException", "ERR_MODEL_AUTH"),
        (403, "UnrecognizedClientException", "ERR_MODEL_AUTH"),
        (429, "ThrottlingException", "ERR_MODEL_RATE_LIMIT"),
        (400, "ServiceQuotaExceededException", "ERR_MODEL_RATE_LIMIT"),
        (429, "ModelNotReadyException", "ERR_MODEL_RATE_LIMIT"),
        (408, "ModelTimeoutException", "ERR_MODEL_UNREACHABLE"),
        (424, "ModelErrorException", "ERR_MODEL_UNREACHABLE"),
        (500, "InternalServerException", "ERR_MODEL_UNREACHABLE"),
        (503, "ServiceUnavailableException", "ERR_MODEL_UNREACHABLE"),
        (400, "ValidationException", "ERR_MODEL_REQUEST"),
        (404, "ResourceNotFoundException", "ERR_MODEL_REQUEST"),
    ],
)
async def test_refusals_have_a_code_and_no_secret(status: int, kind: str, code: str) -> None:
    words = f"no luck with {KEYS.secret_access_key} and {KEYS.session_token}"
    answer = Answer(status=status, body={"message": words}, headers={"x-amzn-errortype": kind})
    async with fake.FakeBedrock([answer]).running() as server:
        fault = await refusal(model_at(server), "very-secret")
    assert fault.code == code
    assert "no luck with *** and ***" in fault.message
    assert "very-secret" not in repr(KEYS)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("throttlingException", "ERR_MODEL_RATE_LIMIT"),
        ("modelStreamErrorException", "ERR_MODEL_UNREACHABLE"),
        ("internalServerException", "ERR_MODEL_UNREACHABLE"),
        ("serviceUnavailableException", "ERR_MODEL_UNREACHABLE"),
        ("validationException", "ERR_MODEL_REQUEST"),
    ],
)
async def test_trouble_in_mid_reply_has_a_name(kind: str, code: str) -> None:
    broken = Answer([*fake.begin(), *fake.text(0, "Well, "), fake.message(kind, {"message": "too bad"}, "exception")])
    async with fake.FakeBedrock([broken]).running() as server:
        with pytest.raises(GloveError, match="too bad") as trouble:
            await ask(model_at(server), user("hi"))
    assert trouble.value.code == code


async def test_without_keys_the_sdk_looks_for_some_and_its_failure_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    file = tmp_path / "credentials"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    async with fake.FakeBedrock([fake.says("ok")]).running() as server:
        with pytest.raises(GloveError, match="AWS_ACCESS_KEY_ID") as trouble:
            await ask(BedrockModel(CLAUDE, base_url=server.url), user("hi"))
        assert trouble.value.code == "ERR_MODEL_AUTH"
        file.write_text("[default]\naws_access_key_id = AKIAOFTHEFILE\naws_secret_access_key = sesame\n")
        result, _ = await ask(BedrockModel(CLAUDE, base_url=server.url), user("hi"))
    assert result.messages[0].text == "ok"
    assert "AKIAOFTHEFILE" in server.headers[0]["authorization"]
    assert "/eu-west-3/" in server.headers[0]["authorization"]


async def test_nobody_listening_is_unreachable() -> None:
    async with fake.FakeBedrock([]).running() as server:
        pass
    with pytest.raises(GloveError) as trouble:
        await ask(model_at(server), user("hi"))
    assert trouble.value.code == "ERR_MODEL_UNREACHABLE"


def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"glove-appliance\[bedrock\]") as missing:
        BedrockModel()
    assert missing.value.code == "ERR_MODEL_PACKAGE"
