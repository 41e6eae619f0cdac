"""Scripted providers fail whatever is not as the protocol and the script have it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from audio.providers.socket import ConnectionEnded, ConnectionRefused, LiveConnection, Target
from realtime.testing import (
    Deaf,
    Expect,
    GeminiDialect,
    Hear,
    OpenAIDialect,
    Pause,
    Refuse,
    Say,
    ScriptedPeer,
    Step,
    UntilGone,
    Violation,
    gemini,
    openai,
)
from realtime.testing.dialect import Dialect
from tests.realtime.s2s.bench import tone

CREATE = {"type": "response.create"}
TARGETS = {
    "OpenAI": Target("ws://127.0.0.1/v1/realtime?model=m"),
    "Gemini": Target("ws://127.0.0.1/ws/x.v1beta.GenerativeService.BidiGenerateContent"),
}


async def faults_of(steps: Sequence[Step], *told: Any, dialect: Dialect | None = None, **more: Any) -> str:
    """What the peer complains about after a client has sent ``told`` and gone."""
    peer = ScriptedPeer(dialect or OpenAIDialect(), steps, **more)
    try:
        async with peer.in_memory() as dialler:
            client = await dialler(TARGETS[peer.dialect.name])
            for message in told:
                await client.send(message if isinstance(message, str) else json.dumps(message))
                await asyncio.sleep(0.1)
            await client.close()
    except AssertionError as fault:
        return str(fault)
    return ""


async def test_a_script_that_is_played_is_fine() -> None:
    assert await faults_of([Expect("response.create"), UntilGone()], CREATE) == ""


@pytest.mark.parametrize(
    ("steps", "told", "words"),
    [
        ([Expect("response.create"), UntilGone()], [], "went away"),
        ([Expect("response.cancel")], [CREATE], "expected response.cancel, and the client sent response.create"),
        ([], [CREATE], "no step for response.create"),
        ([Hear(100)], [{"type": "input_audio_buffer.append", "audio": "AAAA"}], "after 1 of 100 samples"),
        ([Expect("response.create", {"response.x": 1})], [CREATE], "response.x is None instead of 1"),
        ([Expect("response.create", check=lambda told: False)], [CREATE], "not as expected"),
        ([UntilGone()], [{"type": "response.creat"}], "no message of type 'response.creat'"),
        ([UntilGone()], [{"type": "response.create", "extra": 1}], "unknown fields: ['extra']"),
        ([UntilGone()], [{"type": "conversation.item.truncate", "item_id": "i"}], "audio_end_ms"),
        ([UntilGone()], ["{"], "no JSON"),
    ],
)
async def test_a_client_that_does_something_else_fails(steps: list[Step], told: list[Any], words: str) -> None:
    assert words in await faults_of(steps, *told)


async def test_what_is_ignored_needs_no_step() -> None:
    assert await faults_of([UntilGone()], CREATE, ignoring=["response.create"]) == ""


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"setup": {"model": "models/x", "nonsense": 1}}, "nonsense"),
        ({"setup": {"realtimeInputConfig": {"nonsense": 1}}}, "nonsense"),
        ({"realtimeInput": {"audio": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}}, "16 kHz"),
        ([1], "no object"),
    ],
)
async def test_a_client_that_does_not_speak_geminis_protocol_fails(told: Any, words: str) -> None:
    assert words in await faults_of([UntilGone()], told, dialect=GeminiDialect())


async def test_both_spellings_of_keys_are_geminis_and_arguments_keep_theirs() -> None:
    told = {"tool_response": {"function_responses": [{"id": "f", "name": "n", "response": {"city_name": "Paris"}}]}}
    wanted = {"toolResponse.functionResponses.0.response": {"city_name": "Paris"}}
    assert await faults_of([Expect("toolResponse", wanted)], told, dialect=GeminiDialect()) == ""


@pytest.mark.parametrize(
    ("dialect", "told"),
    [
        (OpenAIDialect(), {"type": "response.done"}),
        (OpenAIDialect(), {"type": "response.create"}),
        (OpenAIDialect(), {**openai.speech_started(), "loudness": 1}),
        (GeminiDialect(), {"serverContent": {"finished": True}}),
        (GeminiDialect(), {"setup": {}}),
    ],
)
def test_a_script_cannot_say_what_no_server_says(dialect: Dialect, told: Any) -> None:
    with pytest.raises(Violation):
        dialect.encode(told)


SOUND = tone(0.25, 24_000)
ITEM = {"id": "i", "type": "message", "role": "user", "content": []}


@pytest.mark.parametrize(
    "told",
    [
        openai.answer("Hi.", SOUND),
        openai.tool_calls([("c", "n", "{}")]),
        openai.user_turn("Hi."),
        [openai.session_created(expires_at=1.5), openai.session_updated({"type": "realtime"})],
        [openai.response_done("r", "cancelled"), openai.response_done("r", "failed", error={"type": "server_error"})],
        [openai.error("no", "code"), {"type": "conversation.item.added", "previous_item_id": None, "item": ITEM}],
    ],
)
def test_what_openais_server_says_is_in_the_sdk(told: Sequence[Any]) -> None:
    assert all(OpenAIDialect().encode(message) for message in told)


@pytest.mark.parametrize(
    "told",
    [
        gemini.answer("Hi.", SOUND),
        [gemini.tool_calls([("c", "n", {"a": 1})]), gemini.cancel_calls("c"), gemini.interrupted()],
        [gemini.go_away(1.5), gemini.resumption("h"), gemini.transcript("Hi."), gemini.setup_complete()],
    ],
)
def test_what_geminis_server_says_is_in_the_sdk(told: Sequence[Any]) -> None:
    assert all(GeminiDialect().encode(message) for message in told)


async def test_a_client_without_a_script_is_refused_and_fails() -> None:
    peer = ScriptedPeer(OpenAIDialect())
    with pytest.raises(AssertionError, match="no script"):
        async with peer.in_memory() as dialler:
            with pytest.raises(ConnectionRefused):
                await dialler(TARGETS["OpenAI"])


async def test_a_script_without_a_client_fails() -> None:
    with pytest.raises(AssertionError, match="1 scripts were not used"):
        async with ScriptedPeer(OpenAIDialect(), [UntilGone()]).in_memory():
            pass


@pytest.mark.parametrize(
    ("dialect", "target"),
    [
        (OpenAIDialect(), Target("ws://127.0.0.1/v1/realtime")),
        (OpenAIDialect("k"), TARGETS["OpenAI"]),
        (OpenAIDialect(), TARGETS["Gemini"]),
        (GeminiDialect(), TARGETS["OpenAI"]),
        (GeminiDialect("k"), TARGETS["Gemini"]),
    ],
)
async def test_a_wrong_address_or_key_fails(dialect: Dialect, target: Target) -> None:
    peer = ScriptedPeer(dialect, [UntilGone()])
    with pytest.raises(AssertionError):
        async with peer.in_memory() as dialler:
            with pytest.raises(ConnectionRefused):
                await dialler(target)


async def test_a_refusal_is_as_scripted() -> None:
    peer = ScriptedPeer(OpenAIDialect(), [Refuse(429, "busy")])
    async with peer.in_memory() as dialler:
        with pytest.raises(ConnectionRefused) as caught:
            await dialler(TARGETS["OpenAI"])
    assert (caught.value.status, caught.value.words) == (429, "busy")


async def test_a_deaf_peer_answers_pings_late_and_loses_nothing() -> None:
    loop = asyncio.get_running_loop()
    peer = ScriptedPeer(OpenAIDialect(), [Deaf(5), Expect("response.create"), Say(openai.user_turn()), UntilGone()])
    async with peer.in_memory() as dialler:
        client = await dialler(TARGETS["OpenAI"])
        await client.send(json.dumps(CREATE))
        began = loop.time()
        await asyncio.sleep(0.1)
        await client.ping()
        assert loop.time() - began == pytest.approx(5, abs=0.1)
        assert "speech_started" in str(await client.receive())
        await client.close()


async def test_a_script_that_pauses_does_not_outlive_its_client() -> None:
    async def gone(client: LiveConnection) -> None:
        await client.close()
        with pytest.raises(ConnectionEnded):
            await client.receive()
        with pytest.raises(ConnectionEnded):
            await client.send("late")

    loop = asyncio.get_running_loop()
    began = loop.time()
    async with ScriptedPeer(OpenAIDialect(), [Pause(3600)]).in_memory() as dialler:
        await gone(await dialler(TARGETS["OpenAI"]))
    assert loop.time() - began < 1
