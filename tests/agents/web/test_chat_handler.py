"""The model proxy, as a browser sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agents.base import clock
from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from agents.core.messages import Message, TokenUsage, ToolCall
from agents.core.model import ModelAdapter
from agents.models.provider_table import PROVIDERS
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from agents.web.chat_handler import ChatHandler, create_chat_handler
from tests.agents.web.peer import ask, call

HELLO = {"systemPrompt": "Be brief.", "messages": [{"sender": "user", "text": "hi"}]}


def proxy(model: ModelAdapter, **options: Any) -> ChatHandler:
    return ChatHandler(lambda: model, **options)


async def test_words_come_as_they_are_said_and_done_comes_last() -> None:
    usage = TokenUsage(tokens_in=11, tokens_out=2, cache_read_input_tokens=4)
    with ScriptedModel(["Good morning."], usage=usage) as model:
        async with call(proxy(model), "POST", "/", HELLO) as made:
            events = await made.all()
    assert made.status == 200
    assert made.headers["content-type"].startswith("text/event-stream")
    assert "no-cache" in made.headers["cache-control"] and made.headers["x-accel-buffering"] == "no"
    assert [event["type"] for event in events] == ["text_delta", "text_delta", "done"]
    assert events[0] == {"type": "text_delta", "text": "Good "}
    done = events[-1]
    assert done["message"]["sender"] == "agent" and done["message"]["text"] == "Good morning."
    assert (done["tokens_in"], done["tokens_out"], done["cache_read_input_tokens"]) == (11, 2, 4)
    assert "cache_creation_input_tokens" not in done and "error" not in done
    assert model.requests[0].system_prompt == "Be brief."


async def test_each_event_is_one_line_of_data_and_an_empty_line() -> None:
    text = "first\nsecond\r\n\ndata: no\u2028 \U0001f44b"
    async with call(proxy(ScriptedModel([Say(text, whole=True)])), "POST", "/", HELLO) as made:
        pieces = [piece async for piece in _pieces(made)]
    for piece in pieces:
        assert piece.startswith(b"data: {") and piece.endswith(b"}\n\n") and piece.count(b"\n") == 2
    assert b"".join(pieces).count(b"\n\n") == len(pieces) == 2
    assert json.loads(pieces[0].removeprefix(b"data: "))["text"] == text


async def _pieces(made: Any) -> Any:
    while (piece := await made.piece()) is not None:
        yield piece


async def test_half_a_character_and_not_a_number_are_still_json() -> None:
    model = ScriptedModel([[Say("\ud800 cut", whole=True), Call("draw", {"x": float("nan"), "y": None}, id="c1")]])
    async with call(proxy(model), "POST", "/", HELLO) as made:
        text, tool, done = await made.all()
    assert text["text"] == "\ud800 cut"
    assert tool == {"type": "tool_use", "id": "c1", "name": "draw", "input": {"x": None, "y": None}}
    assert done["message"]["tool_calls"] == [{"tool_name": "draw", "input_args": {"x": None, "y": None}, "id": "c1"}]


async def test_a_model_that_does_not_stream_tells_the_same() -> None:
    model = ScriptedModel([[Say("I look."), Call("look", {"at": "sky"}, id="c1")]], stream=False)
    async with call(proxy(model), "POST", "/", HELLO) as made:
        text, tool, done = await made.all()
    assert (text["text"], tool["name"], done["stop_reason"]) == ("I look.", "look", "tool_use")


async def test_tools_and_history_reach_the_model_whole() -> None:
    tool = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {}}}}
    history = [
        Message(sender="user", text="look"),
        Message(sender="agent", tool_calls=[ToolCall(tool_name="look", input_args={"at": "sky"}, id="c1")]),
    ]
    sent = [message.model_dump(exclude_none=True) for message in history]
    model = ScriptedModel(["Grey."])
    async with call(proxy(model), "POST", "/", {"systemPrompt": "", "messages": sent, "tools": [tool]}) as made:
        await made.all()
    asked = model.requests[0]
    assert list(asked.messages) == history
    assert [(spec.name, spec.description, spec.parameters) for spec in asked.tools] == [tuple(tool.values())]


async def test_a_refusal_before_the_first_word_is_an_http_status() -> None:
    for code, status in [
        ("ERR_MODEL_AUTH", 502), ("ERR_MODEL_RATE_LIMIT", 429), ("ERR_MODEL_UNREACHABLE", 502), ("ERR_ODD", 500),
    ]:  # fmt: skip
        model = ScriptedModel([Fail(GloveError(code, "It said no.", "Try later."))])
        assert await ask(proxy(model), "POST", "/", HELLO) == (
            status,
            {"error": "It said no.", "code": code, "remedy": "Try later."},
        )


async def test_a_failure_in_mid_sentence_is_a_done_with_an_error() -> None:
    model = ScriptedModel([[Say("Well, ", whole=True), Fail(GloveError("ERR_MODEL_UNREACHABLE", "It broke."))]])
    async with call(proxy(model), "POST", "/", HELLO) as made:
        _, done = await made.all()
    assert done["message"] == {"sender": "agent", "text": "Error: It broke.", "is_compaction": False} | done["message"]
    assert done["error"] == {"code": "ERR_MODEL_UNREACHABLE", "message": "It broke."}
    assert (done["tokens_in"], done["tokens_out"]) == (0, 0)


async def test_a_failure_after_a_heartbeat_is_a_done_with_an_error() -> None:
    model = ScriptedModel([Fail(GloveError("ERR_MODEL_UNREACHABLE", "It broke."), delay_s=20.0)])
    async with call(proxy(model), "POST", "/", HELLO) as made:
        (done,) = await made.all()
    assert made.status == 200 and done["error"]["code"] == "ERR_MODEL_UNREACHABLE"


async def test_an_unexpected_exception_says_nothing_of_itself() -> None:
    model = ScriptedModel([Fail(RuntimeError("sk-very-secret"))])
    status, body = await ask(proxy(model), "POST", "/", HELLO)
    assert status == 500 and body["code"] == "ERR_INTERNAL" and "sk-very" not in str(body)


async def test_silence_is_bridged_by_a_comment_every_fifteen_seconds() -> None:
    async with call(proxy(ScriptedModel([Say("At last.", delay_s=50.0, whole=True)])), "POST", "/", HELLO) as made:
        began, comments = clock.now(), 0
        while (piece := await made.piece()) is not None and not piece.startswith(b"data"):
            assert piece.startswith(b":") and piece.endswith(b"\n\n")
            comments += 1
    assert comments == 3 and clock.now() - began == pytest.approx(50.0)


class Watched(ScriptedModel):
    """Knows when its call was stopped."""

    stopped_after_s: float | None = None

    async def prompt(self, request: Any, notify: Any, abort: Any) -> Any:
        began = clock.now()
        abort.on_abort(lambda: setattr(self, "stopped_after_s", clock.now() - began))
        return await super().prompt(request, notify, abort)


@pytest.mark.parametrize("script", [[Hang()], [Say("One moment. "), Hang()]])
async def test_who_leaves_stops_the_model(script: list[Any]) -> None:
    model = Watched([script])
    async with call(proxy(model), "POST", "/", HELLO) as made:
        await asyncio.sleep(3.0)
        made.leave()
        await made.task
    assert model.stopped_after_s == pytest.approx(3.0)
    assert len(asyncio.all_tasks()) == 1


async def test_who_leaves_with_words_still_to_be_sent_stops_the_model_too() -> None:
    model = Watched([[Say("word " * 10), Hang()]])
    async with call(proxy(model), "POST", "/", HELLO) as made:
        await made.piece()
        made.flowing.clear()
        await asyncio.sleep(3.0)
        made.leave()
        await made.task
        assert model.stopped_after_s == pytest.approx(3.0)
    assert len(asyncio.all_tasks()) == 1


async def test_a_reader_who_takes_nothing_holds_the_model_back_and_is_dropped() -> None:
    told = 0

    def endless(_: Any) -> list[Say]:
        return [Say("word " * 10_000)]

    class Counted(ScriptedModel):
        async def prompt(self, request: Any, notify: Any, abort: Any) -> Any:
            async def count(event: Any) -> None:
                nonlocal told
                await notify(event)
                told += 1

            return await super().prompt(request, count, abort)

    async with call(proxy(Counted(endless)), "POST", "/", HELLO) as made:
        await made.piece()
        made.flowing.clear()
        began = clock.now()
        await made.task
        assert clock.now() - began == pytest.approx(60.0)
    assert told < 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "systemPrompt"),
        ({"systemPrompt": 1, "messages": []}, "systemPrompt"),
        ({"systemPrompt": ""}, "messages"),
        ({"systemPrompt": "", "messages": {}}, "messages"),
        ({"systemPrompt": "", "messages": [{"sender": "system", "text": "obey"}]}, "messages.0.sender"),
        ({"systemPrompt": "", "messages": [{"sender": "user", "text": ["x"]}]}, "messages.0.text"),
        ({"systemPrompt": "", "messages": [], "tools": [{}]}, "tools.0.name"),
        ({"systemPrompt": "", "messages": [], "tools": [{"name": "a", "parameters": "b"}]}, "tools.0.parameters"),
    ],
)
async def test_a_wrong_field_is_named(body: Any, field: str) -> None:
    status, answer = await ask(proxy(ScriptedModel()), "POST", "/", body)
    assert (status, answer["code"], answer["field"]) == (400, "ERR_BODY", field)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'"x"'])
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    status, answer = await ask(proxy(ScriptedModel()), "POST", "/", body)
    assert status == 400 and answer["code"] == "ERR_BODY"


async def test_other_types_methods_and_lengths_are_refused() -> None:
    app = proxy(ScriptedModel(), max_body_bytes=1000)
    assert (await ask(app, "POST", "/", HELLO, content_type="text/plain"))[0] == 415
    assert (await ask(app, "GET", "/"))[0] == 405
    long = {**HELLO, "systemPrompt": "x" * 1000}
    assert (await ask(app, "POST", "/", long))[0] == 413
    assert (await ask(app, "POST", "/", long, content_length="12"))[0] == 413


def test_settings_that_cannot_work_are_refused_at_once() -> None:
    for settings in ({"provider": "nobody"}, {"provider": "ollama"}, {"provider": "openai-compat", "model": "m"}):
        with pytest.raises(ConfigError):
            create_chat_handler(**settings, credentials=Credentials([], {}))


def test_every_provider_that_can_be_named_can_be_served() -> None:
    for provider in PROVIDERS.values():
        needed = {"base_url": "http://127.0.0.1:9/v1"} if provider.id == "openai-compat" else {}
        create_chat_handler(provider.id, provider.model or "m", credentials=Credentials([], {}), **needed)


async def test_the_key_is_looked_up_at_the_first_request() -> None:
    environ: dict[str, str] = {}
    app = create_chat_handler("openai", credentials=Credentials([], environ), base_url="http://127.0.0.1:9/v1")
    status, body = await ask(app, "POST", "/", HELLO)
    assert (status, body["code"]) == (500, "ERR_CREDENTIALS_MISSING") and "remedy" not in body
    environ["OPENAI_API_KEY"] = "sk-very-secret"
    status, body = await ask(app, "POST", "/", HELLO)
    assert (status, body["code"]) == (502, "ERR_MODEL_UNREACHABLE") and "sk-very" not in str(body)
    await app.close()
