"""The server on real sockets: who may come in, short-lived keys, several clients, clients that vanish."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agents.base import clock
from appliance.web.server import serve
from realtime.s2s import events
from realtime.s2s.contract import SessionConfig, ToolSpec
from realtime.s2s.create import create_s2s_adapter
from realtime.s2s.openai.messages import OpenAISettings
from realtime.serving.app import MOST_BODY_BYTES, RealtimeServer
from realtime.serving.limits import DEFAULT, Limits
from realtime.testing.sdk_types import check_openai_server
from tests.realtime.serving.client import Bench, Mind, calls, says

pytestmark = pytest.mark.realtime

TOKEN = "a token of enough letters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE_S = 30.0


class Server:
    def __init__(self, realtime: RealtimeServer, port: int) -> None:
        self.realtime = realtime
        self.address = f"127.0.0.1:{port}"

    def dial(self, **more: Any) -> connect:
        return connect(f"ws://{self.address}/v1/realtime?model=glove-x", **more)

    async def post(self, body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"http://{self.address}/v1/realtime/client_secrets"
            return await client.post(url, content=content, headers=BEARER if headers is None else headers)

    async def empty(self) -> None:
        """Wait until nobody is served."""
        while self.realtime.sessions:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def server(
    token: str | None = TOKEN, bench: Bench | None = None, *, most: int = 4, limits: Limits = DEFAULT
) -> AsyncIterator[Server]:
    realtime = RealtimeServer((bench or Bench()).engine(), token, most_sessions=most, limits=limits)
    listening = await serve(realtime.app(), port=0, message_bytes=1 << 20)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield Server(realtime, listening.port)
    finally:
        await listening.close()
    assert realtime.sessions == 0


async def told(connection: ClientConnection, kind: str) -> dict[str, Any]:
    """The next event of ``kind``."""
    async for text in connection:
        event: dict[str, Any] = json.loads(text)
        check_openai_server(event)
        if event["type"] == kind:
            return event
    raise AssertionError(f"closed before {kind}: {connection.close_reason}")


async def send(connection: ClientConnection, kind: str, **fields: Any) -> None:
    await connection.send(json.dumps({"type": kind, **fields}))


async def say(connection: ClientConnection, text: str) -> str:
    """Ask in writing, and take in the answer."""
    content = [{"type": "input_text", "text": text}]
    await send(connection, "conversation.item.create", item={"type": "message", "role": "user", "content": content})
    await send(connection, "response.create", response={"output_modalities": ["text"]})
    done = await told(connection, "response.done")
    return done["response"]["output"][0]["content"][0]["text"]


@pytest.mark.parametrize(
    "more",
    [
        {"additional_headers": BEARER},
        {"additional_headers": {"Authorization": f"bearer  {TOKEN}"}},
        {"additional_headers": BEARER, "origin": "https://elsewhere.example"},
    ],
)
async def test_who_knows_the_token_comes_in(more: dict[str, Any]) -> None:
    async with server() as it, it.dial(**more) as connection:
        session = (await told(connection, "session.created"))["session"]
        assert session["model"] == "glove-x" and session["expires_at"] > clock.wall().timestamp()


async def test_a_key_may_come_as_a_subprotocol() -> None:
    token = "a-token-of-enough-letters"
    offered = ["realtime", f"openai-insecure-api-key.{token}"]
    async with server(token) as it, it.dial(subprotocols=offered) as connection:
        await told(connection, "session.created")
        assert connection.subprotocol == "realtime"


@pytest.mark.parametrize("key", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ek_unknown", "\xe9"])
async def test_who_does_not_stays_outside(key: str) -> None:
    async with server() as it:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with pytest.raises(InvalidStatus) as refused:
            async with it.dial(additional_headers=headers):
                pass
        assert refused.value.response.status_code == 403
        assert (
            await it.post({}, {name: value.encode("latin-1") for name, value in headers.items()})
        ).status_code == 401


@pytest.mark.parametrize(
    ("more", "admitted"),
    [
        ({}, True),
        ({"origin": "https://elsewhere.example"}, False),
        ({"origin": "null"}, False),
        ({"additional_headers": {"Host": "elsewhere.example"}}, False),
    ],
)
async def test_without_a_token_programs_come_in_and_web_pages_do_not(more: dict[str, Any], admitted: bool) -> None:
    async with server(None) as it:
        if admitted:
            async with it.dial(**more) as connection:
                await told(connection, "session.created")
            return
        with pytest.raises((InvalidStatus, ValueError)):
            async with it.dial(**more):
                pass


async def test_a_short_lived_key_opens_a_session_with_its_settings() -> None:
    async with server() as it:
        wishes = {"session": {"type": "realtime", "instructions": "Be brief."}, "expires_after": {"seconds": 60}}
        made = (await it.post(wishes)).json()
        assert made["value"].startswith("ek_") and 0 < made["expires_at"] - clock.wall().timestamp() <= 61
        headers = {"Authorization": f"Bearer {made['value']}"}
        for _ in range(2):
            async with it.dial(additional_headers=headers) as connection:
                assert (await told(connection, "session.created"))["session"]["instructions"] == "Be brief."
        assert (await it.post({}, headers)).status_code == 401  # it makes no further keys


async def test_a_short_lived_key_is_over_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import datetime

    async with server() as it:
        key = (await it.post({"expires_after": {"seconds": 10}})).json()["value"]
        late = clock.wall() + datetime.timedelta(seconds=11)
        monkeypatch.setattr(clock, "wall", lambda: late)
        with pytest.raises(InvalidStatus):
            async with it.dial(additional_headers={"Authorization": f"Bearer {key}"}):
                pass


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"\xff\xfe", 400, "invalid_json"),
        ({"session": {"nonsense": 1}}, 400, "unknown_parameter"),
        ({"expires_after": {"seconds": 5}}, 400, "invalid_value"),
        (b"x" * (MOST_BODY_BYTES + 1), 413, "request_too_large"),
    ],
    ids=["json", "bytes", "settings", "time", "size"],
)
async def test_requests_for_keys_that_make_no_sense_are_refused(body: Any, status: int, code: str) -> None:
    async with server() as it:
        answer = await it.post(body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_clients_have_conversations_of_their_own() -> None:
    bench = Bench(mind=Mind([says("For one."), says("For two.")], delay_s=0.0))
    async with server(None, bench) as it, it.dial() as one, it.dial() as two:
        assert await say(one, "I am one.") == "For one."
        assert await say(two, "I am two.") == "For two."
        assert [[message.text for message in asked.messages] for asked in bench.mind.asked] == [
            ["I am one."],
            ["I am two."],
        ]


async def test_one_client_too_many_is_told_so() -> None:
    async with server(None, most=1) as it:
        async with it.dial() as first:
            await told(first, "session.created")
            async with it.dial() as second:
                assert (await told(second, "error"))["error"]["code"] == "too_many_sessions"
                with pytest.raises(ConnectionClosed) as over:
                    await second.recv()
                assert over.value.rcvd is not None and over.value.rcvd.code == 1013
        await it.empty()
        async with it.dial() as third:
            await told(third, "session.created")


async def test_a_client_that_vanishes_stops_its_answer() -> None:
    bench = Bench(mind=Mind([says("word " * 10_000)], delay_s=0.01))
    async with server(None, bench) as it:
        async with it.dial() as connection:
            await send(connection, "response.create", response={"output_modalities": ["text"]})
            await told(connection, "response.output_text.delta")
            connection.transport.abort()
        await it.empty()
        assert bench.mind.cancelled == 1


async def test_a_client_that_does_not_read_is_hung_up_on() -> None:
    bench = Bench(mind=Mind([says("One two three four five six. " * 2000)], delay_s=0.0))
    bench.voice.speed, bench.voice.first_audio_s = 10_000.0, 0.0
    async with server(None, bench, limits=Limits(reads_s=0.5)) as it:
        connection = await it.dial(max_queue=1)
        await send(connection, "response.create")
        await asyncio.sleep(0.1)
        assert it.realtime.sessions == 1
        await it.empty()
        assert bench.voice.made and all(one.destroyed for one in bench.voice.made)
        connection.transport.abort()


async def test_a_message_that_is_too_long_ends_the_session() -> None:
    async with server(None) as it, it.dial() as connection:
        await send(connection, "input_audio_buffer.append", audio="A" * (2 << 20))
        with pytest.raises(ConnectionClosed) as over:
            while True:
                await connection.recv()
        assert over.value.rcvd is not None and over.value.rcvd.code == 1009


async def test_bytes_are_no_message() -> None:
    async with server(None) as it, it.dial() as connection:
        await connection.send(b"\x00\x01")
        assert (await told(connection, "error"))["error"]["code"] == "invalid_json"


async def test_a_server_that_stops_ends_its_sessions() -> None:
    async with server(None) as it:
        connection = await it.dial()
        await told(connection, "session.created")
        await it.realtime.close()
        with pytest.raises(ConnectionClosed):
            await connection.recv()


async def test_the_model_is_listed_for_those_who_may_use_it() -> None:
    async with server() as it, httpx.AsyncClient(trust_env=False) as client:
        url = f"http://{it.address}/v1/models"
        assert (await client.get(url)).status_code == 401
        assert [one["id"] for one in (await client.get(url, headers=BEARER)).json()["data"]] == ["glove"]


async def test_our_own_adapter_calls_tools_is_interrupted_and_says_what_was_heard() -> None:
    talk = says("Alpha beta gamma. Delta epsilon zeta. " * 10)
    bench = Bench(mind=Mind([[calls("bell", '{"times": 2}')], talk, says("Yes?")], delay_s=0.0))
    async with server(bench=bench) as it:
        settings = OpenAISettings(turn_detection=None)
        adapter = create_s2s_adapter("openai", api_key=TOKEN, base_url=f"http://{it.address}/v1", settings=settings)
        adapter.heard_ms = lambda _: 1010.0
        called: asyncio.Queue[events.ToolCall] = asyncio.Queue()
        spoken: asyncio.Queue[events.AgentAudio] = asyncio.Queue()
        done: asyncio.Queue[events.ResponseDone] = asyncio.Queue()
        adapter.events.on(events.ToolCall, called.put_nowait)
        adapter.events.on(events.AgentAudio, spoken.put_nowait)
        adapter.events.on(events.ResponseDone, done.put_nowait)
        await adapter.connect(SessionConfig("Ring.", tools=(ToolSpec("bell", "Rings.", {"type": "object"}),)))
        adapter.inject_text("Ring twice.", respond=True)
        call = await called.get()
        assert (call.name, call.arguments) == ("bell", '{"times": 2}')
        await done.get()
        adapter.send_tool_result(call.call_id, "ding dong")
        for _ in range(15):
            await spoken.get()
        adapter.interrupt()
        assert (await done.get()).status == "cancelled"
        adapter.inject_text("Stop.", respond=True)
        assert (await done.get()).status == "completed"
        await adapter.disconnect()
        last = bench.mind.asked[-1].messages
        assert [message.text for message in last if message.heard] == ["Alpha beta gamma. Delta"]
        assert [message.tool_results[0].result.data for message in last if message.tool_results] == ["ding dong"]
