"""Chat Completions through the real SDK, against a server on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelProgress, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.glove import Glove
from agents.core.model import PromptRequest
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.openai_compatible import OpenAiCompatibleModel, is_loopback
from agents.models.openai_request import Dialect, Reasoning
from tests.agents.core.scene import Ear
from tests.agents.models import fake_openai as fake
from tests.agents.models.asking import abort_at_first_word, ask, refusal, user

KEY = "sk-very-secret"

pytestmark = pytest.mark.realtime


def model_at(server: fake.FakeOpenAi, **options: Any) -> OpenAiCompatibleModel:
    given = {"api_key": KEY, "key_name": "OPENAI_API_KEY", "max_retries": 0, **options}
    return OpenAiCompatibleModel("m-1", base_url=server.url, **given)


async def test_words_arrive_as_they_are_said_and_are_counted() -> None:
    answer = fake.says("Good ", "morning.")
    answer.frames[-1] = fake.usage(11, 7, cached=4)
    async with fake.FakeOpenAi([answer]).running() as server:
        result, events = await ask(model_at(server), user("hi"), reply_id="r1")
    assert events == [
        TextDelta("Good ", "r1"),
        TextDelta("morning.", "r1"),
        ModelResponseComplete("Good morning.", "r1", (), "end_turn"),
    ]
    assert (result.messages[0].text, result.messages[0].id) == ("Good morning.", "r1")
    assert (result.usage.tokens_in, result.usage.tokens_out, result.usage.cache_read_input_tokens) == (11, 7, 4)
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    body = server.bodies[0]
    assert (body["model"], body["max_tokens"], body["stream_options"]) == ("m-1", 4096, {"include_usage": True})
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


async def test_an_agent_runs_two_tools_whose_arguments_come_in_pieces() -> None:
    async def weather(_: NoArgs, __: ToolContext) -> dict[str, str]:
        return {"sky": "grey"}

    first = fake.Answer([
        fake.chunk(content="Let me look."),
        fake.chunk(tool_calls=[fake.call(0, "c1", "weather", '{"pla')]),
        fake.chunk(tool_calls=[fake.call(0, arguments='ce": "Bath"}'), fake.call(1, "c2", "weather")]),
        fake.chunk("tool_calls"),
    ])  # fmt: skip
    async with fake.FakeOpenAi([first, fake.says("It is grey.")]).running() as server:
        model, ear = model_at(server), Ear()
        glove = Glove(model=model).fold(Tool("weather", "Looks outside.", weather, NoArgs))
        reply = await glove.add_subscriber(ear).build().process_request("weather?")
        await model.close()
    assert reply.text == "It is grey."
    assert [(event.id, event.input) for event in ear.of(ToolUse)] == [("c1", {"place": "Bath"}), ("c2", {})]
    _, said, *results = server.bodies[1]["messages"]
    assert said["content"] == "Let me look."
    assert [c["function"] for c in said["tool_calls"]] == [
        {"name": "weather", "arguments": '{"place": "Bath"}'},
        {"name": "weather", "arguments": "{}"},
    ]
    expected = {"role": "tool", "content": '{"sky": "grey"}'}
    assert results == [{**expected, "tool_call_id": "c1"}, {**expected, "tool_call_id": "c2"}]
    assert "weather" in [tool["function"]["name"] for tool in server.bodies[0]["tools"]]


async def test_calls_that_all_claim_index_zero_or_have_no_id_are_kept_apart() -> None:
    answer = fake.Answer([
        fake.chunk(tool_calls=[fake.call(0, "c1", "one", "{}")]),
        fake.chunk(tool_calls=[fake.call(0, "c2", "two", "not json")]),
        fake.chunk(tool_calls=[fake.call(1, None, "three")]),
        fake.chunk("tool_calls"),
    ])  # fmt: skip
    async with fake.FakeOpenAi([answer]).running() as server:
        result, _ = await ask(model_at(server), user("go"))
    calls = result.messages[0].tool_calls or []
    assert [(c.tool_name, c.input_args) for c in calls] == [("one", {}), ("two", "not json"), ("three", {})]
    assert (calls[2].id or "").startswith("call_")


async def test_a_providers_mark_on_a_call_goes_back_to_it_alone() -> None:
    signature = {"google": {"thought_signature": "abc"}}
    answer = fake.Answer([
        fake.chunk(tool_calls=[fake.call(0, "c1", "look", "{}", extra_content=signature)]),
        fake.chunk("tool_calls"),
    ])  # fmt: skip
    async with fake.FakeOpenAi([answer, fake.says("a"), fake.says("b")]).running() as server:
        gemini = Dialect("gemini")
        result, _ = await ask(model_at(server, dialect=gemini), user("go"))
        said = result.messages[0]
        assert (said.tool_calls or [])[0].provider_options == {"gemini": signature}
        await ask(model_at(server, dialect=gemini), user("go"), said)
        await ask(model_at(server, dialect=Dialect("glm")), user("go"), said)
    sent = [body["messages"][2]["tool_calls"][0] for body in server.bodies[1:]]
    assert sent[0]["extra_content"] == signature
    assert "extra_content" not in sent[1]


@pytest.mark.parametrize(
    ("reasoning", "kept", "spoken", "echoed"),
    [
        (False, None, "Yes.", False),
        (True, "Hm, so.", "Yes.", True),
        (Reasoning(echo=False), "Hm, so.", "Yes.", False),
        (Reasoning(include_in_text=True), "Hm, so.", "Hm, so.Yes.", True),
    ],
)
async def test_thoughts_are_kept_and_sent_back_as_configured(
    reasoning: Any, kept: str | None, spoken: str, echoed: bool
) -> None:
    answer = fake.Answer([fake.chunk(reasoning_content="Hm, "), fake.chunk(reasoning="so."), *fake.says("Yes.").frames])
    async with fake.FakeOpenAi([answer, fake.says("ok")]).running() as server:
        result, events = await ask(model_at(server, reasoning=reasoning), user("go"))
        message = result.messages[0]
        assert message.reasoning_content == kept
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == spoken
        assert message.text == ("<think>Hm, so.</think>\nYes." if spoken != "Yes." else "Yes.")
        await ask(model_at(server, reasoning=reasoning), user("go"), message, user("on"))
    said = server.bodies[1]["messages"][2]
    assert said.get("reasoning_content") == (kept if echoed else None)


async def test_fields_that_ask_for_thoughts_are_sent_and_extra_ones_win() -> None:
    reasoning = Reasoning(
        effort="low", reasoning_object={"exclude": True}, thinking={"type": "enabled"}, extra_body={"max_tokens": 9}
    )
    async with fake.FakeOpenAi([fake.says("ok")]).running() as server:
        await ask(model_at(server, reasoning=reasoning), user("go"))
    body = server.bodies[0]
    assert (body["reasoning_effort"], body["reasoning"]) == ("low", {"exclude": True})
    assert (body["thinking"], body["max_tokens"]) == ({"type": "enabled"}, 9)


async def test_thoughts_between_tags_are_not_spoken() -> None:
    answer = fake.says("<th", "ink>Let me", " see</thi", "nk>", "\n\n", "Four", " <think> o'clock.")
    async with fake.FakeOpenAi([answer]).running() as server:
        result, events = await ask(model_at(server, reasoning=True), user("time?"))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Four", " <think> o'clock."]
    assert result.messages[0].text == "Four <think> o'clock."
    assert result.messages[0].reasoning_content == "Let me see"
    assert isinstance(events[0], ModelProgress)


async def test_a_model_that_does_not_stream_answers_at_once() -> None:
    tool = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    async with fake.FakeOpenAi([fake.whole(content="Hi.", tool_calls=[tool])]).running() as server:
        result, events = await ask(model_at(server, stream=False), user("go"), reply_id="r1")
    assert server.bodies[0]["stream"] is False
    assert [type(event) for event in events] == [ModelResponse]
    assert (result.messages[0].text, (result.messages[0].tool_calls or [])[0].input_args) == ("Hi.", {"a": 1})
    assert result.usage.tokens_out == 7


async def test_an_answer_without_choices_is_empty() -> None:
    body = {**fake.whole(content="").body, "choices": [], "usage": None}
    async with fake.FakeOpenAi([fake.Answer(body=body)]).running() as server:
        result, _ = await ask(model_at(server, stream=False), user("go"))
    assert (result.messages[0].text, result.usage.tokens_in) == ("", 0)


async def test_an_abort_closes_the_stream_at_once() -> None:
    answer = fake.Answer([fake.chunk(content="Once upon a time")], hang=True)
    async with fake.FakeOpenAi([answer]).running() as server:
        await abort_at_first_word(server, model_at(server))


async def test_a_reader_that_fails_leaves_no_stream_open() -> None:
    answer = fake.Answer([fake.chunk(content="Once upon a time")], hang=True)
    async with fake.FakeOpenAi([answer]).running() as server:
        model = model_at(server)

        async def fail(event: AgentEvent) -> None:
            raise RuntimeError("no room")

        with pytest.raises(RuntimeError, match="no room"):
            await model.prompt(PromptRequest("", [user("a story")]), fail, AbortToken())
        async with asyncio.timeout(5):
            await server.client_left.wait()
        await model.close()


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (401, {"code": "invalid_api_key"}, "ERR_MODEL_AUTH"),
        (403, {}, "ERR_MODEL_AUTH"),
        (402, {}, "ERR_MODEL_RATE_LIMIT"),
        (429, {"type": "insufficient_quota"}, "ERR_MODEL_RATE_LIMIT"),
        (500, {"type": "server_error"}, "ERR_MODEL_UNREACHABLE"),
        (503, {}, "ERR_MODEL_UNREACHABLE"),
        (400, {"type": "invalid_request_error"}, "ERR_MODEL_REQUEST"),
        (404, {"code": "model_not_found"}, "ERR_MODEL_REQUEST"),
    ],
)
async def test_refusals_have_a_code_and_no_secret(status: int, error: dict[str, Any], code: str) -> None:
    body = {"error": {"message": f"no luck with {KEY}", **error}}
    async with fake.FakeOpenAi([fake.Answer(status=status, body=body)]).running() as server:
        fault = await refusal(model_at(server), KEY)
    assert fault.code == code
    assert "no luck with ***" in fault.message
    assert code != "ERR_MODEL_AUTH" or "OPENAI_API_KEY" in str(fault)


@pytest.mark.parametrize("body", [{"error": "model not loaded"}, ["nonsense"], "plain words"])
async def test_strange_errors_are_still_errors(body: Any) -> None:
    async with fake.FakeOpenAi([fake.Answer(status=400, body=body)]).running() as server:
        with pytest.raises(GloveError, match="refused"):
            await ask(model_at(server), user("hi"))


async def test_trouble_in_mid_reply_is_told_apart_from_an_end() -> None:
    begun = [fake.chunk(content="Well, ")]
    busy = {"error": {"message": "slow down", "code": 429}}
    troubles = [
        ("ERR_MODEL_RATE_LIMIT", fake.Answer([*begun, busy])),
        ("ERR_MODEL_UNREACHABLE", fake.Answer(begun, drop=True)),
        ("ERR_MODEL_UNREACHABLE", fake.Answer(begun)),
    ]
    for code, answer in troubles:
        async with fake.FakeOpenAi([answer]).running() as server:
            with pytest.raises(GloveError) as trouble:
                await ask(model_at(server), user("hi"))
        assert trouble.value.code == code


async def test_a_busy_server_is_asked_again_and_a_refusing_one_is_not() -> None:
    busy, refusal = fake.Answer(status=503, body={}), fake.Answer(status=401, body={})
    async with fake.FakeOpenAi([busy, fake.says("Now."), refusal]).running() as server:
        result, _ = await ask(model_at(server, max_retries=1), user("hi"))
        assert result.messages[0].text == "Now."
        with pytest.raises(GloveError, match="key"):
            await ask(model_at(server, max_retries=1), user("hi"))
    assert len(server.bodies) == 3


def test_on_virtual_time_nobody_waits_for_ever_for_another_attempt() -> None:
    async def lost() -> float:
        model = OpenAiCompatibleModel("m", base_url="http://127.0.0.1:9/v1", max_retries=2)
        with pytest.raises(GloveError, match="reached"):
            await model.prompt(PromptRequest("", [user("hi")]), Ear().record, AbortToken())
        await model.close()
        return clock.now()

    assert 1.0 < clock.run_virtual(lost()) <= 1.5


async def test_nobody_listening_is_unreachable() -> None:
    async with fake.FakeOpenAi([]).running() as server:
        pass
    with pytest.raises(GloveError) as trouble:
        await ask(model_at(server), user("hi"))
    assert trouble.value.code == "ERR_MODEL_UNREACHABLE"


async def test_a_server_on_this_machine_is_asked_directly_and_told_nothing_of_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with fake.FakeOpenAi([fake.says("Hello.")]).running() as server:
        result, _ = await ask(model_at(server, api_key=None), user("hi"))
    assert result.messages[0].text == "Hello."
    sent = " ".join(server.headers[0].values())
    assert "org-secret" not in sent and "proj-secret" not in sent and "sk-of-openai" not in sent


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.8.0.1/v1", True),
        ("http://[::1]:8/v1", True),
        ("http://10.0.0.2/v1", False),
        ("https://localhost.example.com/v1", False),
    ],
)
async def test_what_is_this_machine(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected
