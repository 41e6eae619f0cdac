"""What the model proxy asks of real SDKs' servers, and a browser's socket to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from agents.web.access import Access, new_token
from agents.web.chat_handler import ChatHandler, create_chat_handler
from agents.web.routes import web_routes
from tests.agents.models import fake_anthropic, fake_openai
from tests.agents.web.peer import served

pytestmark = pytest.mark.realtime

KEY = "sk-very-secret"
LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {}}}}
HELLO: dict[str, Any] = {"systemPrompt": "Be brief.", "messages": [{"sender": "user", "text": "hi"}]}


async def asked(app: ChatHandler, body: Any = None) -> tuple[int, Any]:
    """Status, and the events or the refusal."""
    async with (
        served(Starlette(routes=[Route("/", app, methods=["POST"])])) as url,
        httpx.AsyncClient(timeout=60) as browser,
    ):
        answer = await browser.post(url, json=body or HELLO)
    await app.close()
    if answer.headers["content-type"].startswith("text/event-stream"):
        return answer.status_code, [json.loads(block[6:]) for block in answer.text.split("\n\n") if block[:1] == "d"]
    return answer.status_code, answer.json()


async def upstream_body(provider: str, body: Any = None, **settings: Any) -> dict[str, Any]:
    """What the provider's server was sent."""
    async with fake_openai.FakeOpenAi([fake_openai.says("Hello.")]).running() as server:
        app = create_chat_handler(provider, "m-1", KEY, base_url=server.url, **settings)
        status, _ = await asked(app, body)
        assert status == 200
        return server.bodies[0]


async def test_tools_are_offered_in_the_providers_own_format() -> None:
    body = {**HELLO, "tools": [LOOK]}
    sent = await upstream_body("openai", body)
    assert sent["tools"] == [{"type": "function", "function": LOOK}] and sent["stream"] is True
    async with fake_anthropic.FakeAnthropic([fake_anthropic.says("Hello.")]).running() as server:
        status, events = await asked(create_chat_handler("anthropic", "m-1", KEY, base_url=server.url), body)
    assert status == 200 and events[-1]["message"]["text"] == "Hello."
    (tool,) = server.bodies[0]["tools"]
    assert (tool["name"], tool["description"], tool["input_schema"]) == tuple(LOOK.values())


@pytest.mark.parametrize(
    ("settings", "asks", "captured"),
    [
        ({}, False, False),
        ({"reasoning": False}, False, False),
        ({"reasoning": True}, False, True),
        ({"reasoning_effort": "low"}, True, True),
        ({"include_reasoning_in_text": True}, False, True),
    ],
)
async def test_thoughts_are_kept_when_any_setting_asks_for_them(
    settings: dict[str, Any], asks: bool, captured: bool
) -> None:
    chunks = [
        fake_openai.chunk(role="assistant", reasoning_content="Hm."), fake_openai.chunk(content="Hi."),
        fake_openai.chunk("stop"), fake_openai.usage(),
    ]  # fmt: skip
    async with fake_openai.FakeOpenAi([fake_openai.Answer(chunks)]).running() as server:
        app = create_chat_handler("openai", "m-1", KEY, base_url=server.url, **settings)
        _, events = await asked(app)
        assert ("reasoning_effort" in server.bodies[0]) is asks
    message = events[-1]["message"]
    assert (message.get("reasoning_content") == "Hm.") is captured
    assert ("<think>Hm.</think>" in message["text"]) is bool(settings.get("include_reasoning_in_text"))


async def test_thoughts_go_back_to_the_provider_when_they_are_kept() -> None:
    said = {"sender": "agent", "text": "Hi.", "reasoning_content": "Hm."}
    body = {**HELLO, "messages": [*HELLO["messages"], said, {"sender": "user", "text": "and?"}]}
    for reasoning in (True, False):
        sent = await upstream_body("openai", body, reasoning=reasoning)
        (assistant,) = [message for message in sent["messages"] if message["role"] == "assistant"]
        assert ("reasoning_content" in assistant) is reasoning


async def test_only_openrouter_is_told_where_to_cache() -> None:
    for provider, marked in [("openrouter", True), ("openai", False), ("kimi", False), ("gemini", False)]:
        sent = await upstream_body(provider, cache=True)
        assert ("cache_control" in json.dumps(sent)) is marked, provider


async def test_a_tool_call_whose_arguments_are_no_json_is_passed_on_as_it_is() -> None:
    answer = fake_openai.Answer([
        fake_openai.chunk(tool_calls=[fake_openai.call(0, "c1", "look", '{"at": "sk')]),
        fake_openai.chunk(tool_calls=[fake_openai.call(0, arguments='y"}')]),
        fake_openai.chunk(tool_calls=[fake_openai.call(1, "c2", "look", "{oops")]),
        fake_openai.chunk("tool_calls"), fake_openai.usage(),
    ])  # fmt: skip
    async with fake_openai.FakeOpenAi([answer]).running() as server:
        _, events = await asked(create_chat_handler("openai", "m-1", KEY, base_url=server.url))
    inputs = [event["input"] for event in events if event["type"] == "tool_use"]
    assert inputs == [{"at": "sky"}, "{oops"]
    assert [call["input_args"] for call in events[-1]["message"]["tool_calls"]] == inputs


@pytest.mark.parametrize(
    ("upstream", "status", "code"), [(401, 502, "ERR_MODEL_AUTH"), (400, 502, "ERR_MODEL_REQUEST")]
)
async def test_a_providers_refusal_is_an_http_status_without_the_key(upstream: int, status: int, code: str) -> None:
    refusal = {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "invalid_request_error"}}
    async with fake_openai.FakeOpenAi([fake_openai.Answer(status=upstream, body=refusal)]).running() as server:
        got, answer = await asked(create_chat_handler("openai", "m-1", KEY, base_url=server.url))
    assert (got, answer["code"]) == (status, code) and KEY not in str(answer)


async def test_a_browser_that_leaves_closes_the_connection_to_the_provider() -> None:
    hangs = fake_openai.Answer([fake_openai.chunk(content="One ")], hang=True)
    async with fake_openai.FakeOpenAi([hangs]).running() as server:
        app = create_chat_handler("openai", "m-1", KEY, base_url=server.url)
        async with (
            served(Starlette(routes=[Route("/", app, methods=["POST"])])) as url,
            httpx.AsyncClient(timeout=60) as browser,
        ):
            async with browser.stream("POST", url, json=HELLO) as answer:
                assert await anext(answer.aiter_lines()) == 'data: {"type":"text_delta","text":"One "}'
                assert not server.client_left.is_set()
            async with asyncio.timeout(5):
                await server.client_left.wait()
        await app.close()


async def test_frames_survive_any_way_in_which_the_network_cuts_them() -> None:
    words = ["Grüße, ", "世界 ", "\U0001f44b\n\ndata: x ", "end"]
    async with fake_openai.FakeOpenAi([fake_openai.says(*words)]).running() as server:
        app = create_chat_handler("openai", "m-1", KEY, base_url=server.url)
        async with (
            served(Starlette(routes=[Route("/", app, methods=["POST"])])) as url,
            httpx.AsyncClient(timeout=60) as browser,
        ):
            raw = (await browser.post(url, json=HELLO)).content
        await app.close()
    for size in range(1, 12):
        text = _parsed([raw[start : start + size] for start in range(0, len(raw), size)])
        assert text == "".join(words), size


def _parsed(pieces: list[bytes]) -> str:
    """The text of all deltas, as a client that gets ``pieces`` finds it."""
    waiting, text = b"", ""
    for piece in pieces:
        waiting += piece
        *whole, waiting = waiting.split(b"\n\n")
        for block in whole:
            event = json.loads(block.decode().removeprefix("data: ")) if block[:1] == b"d" else {"type": ""}
            text += event["text"] if event["type"] == "text_delta" else ""
    assert not waiting
    return text


async def test_the_proxy_behind_the_gate_wants_the_token() -> None:
    token = new_token()
    async with fake_openai.FakeOpenAi([fake_openai.says("Hello.")]).running() as server:
        app = create_chat_handler("openai", "m-1", KEY, base_url=server.url)
        async with (
            served(Starlette(routes=web_routes(Access(token).allows, chat=app))) as url,
            httpx.AsyncClient(base_url=url, timeout=60) as browser,
        ):
            refused = await browser.post("/api/chat", json=HELLO)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
            assert not server.bodies
            answer = await browser.post("/api/chat", json=HELLO, headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 200 and "Hello." in answer.text
        await app.close()
