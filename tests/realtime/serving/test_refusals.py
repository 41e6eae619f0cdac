"""What a session refuses, and that it goes on afterwards; what it bounds; how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import numpy as np
import pytest

from realtime.serving.contract import TextPiece
from realtime.serving.limits import Limits
from tests.realtime.serving.client import Bench, Mind, b64, noise, quiet, says, session

MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
APPEND = {"type": "input_audio_buffer.append"}
CREATE = {"type": "conversation.item.create"}
TRUNCATE = {"type": "conversation.item.truncate", "content_index": 0, "audio_end_ms": 10}


def update(**settings: Any) -> dict[str, Any]:
    return {"type": "session.update", "session": {"type": "realtime", **settings}}


def hearing(**settings: Any) -> dict[str, Any]:
    return update(audio={"input": settings})


BAD: list[tuple[dict[str, Any], str, str | None]] = [
    ({}, "missing_required_parameter", "type"),
    ({"type": 7}, "missing_required_parameter", "type"),
    ({"type": "session.destroy"}, "invalid_value", "type"),
    ({"type": "session.update"}, "missing_required_parameter", "session"),
    ({"type": "response.cancel", "extra": 1}, "unknown_parameter", "extra"),
    ({**APPEND, "audio": "§§§"}, "invalid_value", "audio"),
    ({**APPEND, "audio": "AAA"}, "invalid_value", "audio"),
    ({**APPEND, "audio": base64.b64encode(b"odd").decode()}, "invalid_value", "audio"),
    ({**APPEND, "audio": 5}, "invalid_value", "audio"),
    ({"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty", None),
    ({"type": "conversation.item.retrieve", "item_id": "no"}, "item_retrieve_invalid_item_id", "item_id"),
    ({"type": "conversation.item.delete", "item_id": "no"}, "item_delete_invalid_item_id", "item_id"),
    ({**TRUNCATE, "item_id": "no"}, "item_truncate_invalid_item_id", "item_id"),
    ({**TRUNCATE, "item_id": "known"}, "invalid_value", "content_index"),
    ({**CREATE, "item": {**MESSAGE, "id": "known"}}, "item_create_duplicate_id", "item.id"),
    ({**CREATE, "item": {**MESSAGE, "role": "judge"}}, "invalid_value", "item.message"),
    ({**CREATE, "item": {**MESSAGE, "content": []}}, "invalid_value", "item.message.user.content"),
    ({**CREATE, "item": MESSAGE, "previous_item_id": "no"}, "item_create_invalid_previous_item_id", "previous_item_id"),
    (
        {**CREATE, "item": {"type": "function_call_output", "call_id": "no", "output": ""}},
        "invalid_tool_call_id",
        "item.call_id",
    ),
    ({**CREATE, "item": {"type": "mcp_call", "id": "x"}}, "invalid_value", "item"),
    ({"type": "response.cancel"}, "response_cancel_not_active", "response_id"),
    ({"type": "response.cancel", "response_id": "no"}, "response_cancel_not_active", "response_id"),
    (
        {"type": "response.create", "response": {"tool_choice": {"type": "function", "name": "no"}}},
        "invalid_value",
        None,
    ),
    (
        {"type": "response.create", "response": {"input": [{"type": "item_reference", "id": "no"}]}},
        "item_reference",
        None,
    ),
    ({"type": "response.create", "response": {"max_output_tokens": 0}}, "invalid_value", None),
    (update(modalities=["text"]), "unknown_parameter", "session.modalities"),
    (update(type="transcription"), "invalid_value", "session.type"),
    (update(output_modalities=["text", "audio"]), "invalid_value", "session.output_modalities"),
    (update(tools=[{"type": "function", "name": "bad name"}]), "invalid_value", None),
    (update(tools=[{"type": "function", "name": "twice"}] * 2), "invalid_value", "session.tools"),
    (update(instructions="x" * 100_001), "string_above_max_length", "session.instructions"),
    (update(audio={"output": {"speed": 1.5}}), "invalid_value", "session.audio.output.speed"),
    (hearing(format={"type": "audio/pcm", "rate": 16_000}), "invalid_value", None),
    (hearing(format={"type": "audio/mp3"}), "invalid_value", "session.audio.input.format"),
    (hearing(turn_detection={"type": "magic"}), "invalid_value", "session.audio.input.turn_detection"),
    (hearing(turn_detection={"type": "server_vad", "threshold": 2}), "invalid_value", None),
]


@pytest.mark.parametrize(
    ("message", "code", "param"), BAD, ids=lambda value: None if isinstance(value, dict) else value
)
async def test_what_makes_no_sense_is_refused_and_the_session_goes_on(
    message: dict[str, Any], code: str, param: str | None
) -> None:
    async with session() as client:
        client.detection(None)
        client.say("hi", id="known")
        client.send_raw(json.dumps({**message, "event_id": "mine"}))
        error = await client.refused()
        assert error["type"] == "invalid_request_error" and error["event_id"] == "mine"
        assert error["code"].startswith(code) and error["message"]
        assert param is None or error["param"] == param
        client.send("response.create")
        assert (await client.seen("response.done"))["response"]["status"] == "completed"


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", "[" * 100_000, "\0"])
async def test_what_is_no_message_is_refused(text: str) -> None:
    async with session() as client:
        client.send_raw(text)
        assert (await client.refused())["code"] == "invalid_json"


async def test_settings_that_are_refused_change_nothing() -> None:
    async with session() as client:
        client.configure(instructions="Be kind.")
        client.configure(instructions="Be rude.", nonsense=1)
        await client.refused()
        client.configure(tool_choice="none")
        told = (await client.seen("session.updated", 2))["session"]
        assert told["instructions"] == "Be kind." and told["tool_choice"] == "none"


async def test_there_is_one_answer_at_a_time() -> None:
    async with session() as client:
        client.say("hello")
        client.send("response.create")
        client.send("response.create")
        assert (await client.refused())["code"] == "conversation_already_has_active_response"
        await client.seen("response.done")
        client.send("response.create")
        await client.seen("response.done", 2)


async def test_answers_beside_the_conversation_are_bounded() -> None:
    async with session(Bench(limits=Limits(out_of_band=2))) as client:
        for _ in range(3):
            client.send("response.create", response={"conversation": "none", "input": [MESSAGE]})
        assert (await client.refused())["code"] == "too_many_responses"
        await client.seen("response.done", 2)


async def test_the_voice_does_not_change_in_mid_conversation() -> None:
    async with session() as client:
        client.configure(audio={"output": {"voice": "cedar"}})
        client.say("hello")
        client.send("response.create")
        await client.seen("response.done")
        client.configure(audio={"output": {"voice": {"id": "other"}}})
        assert (await client.refused())["code"] == "cannot_update_voice"
        client.configure(audio={"output": {"voice": "cedar"}})
        await client.seen("session.updated", 2)


async def test_more_cannot_be_truncated_than_was_said() -> None:
    async with session() as client:
        client.say("hello")
        client.send("response.create")
        item = (await client.seen("response.done"))["response"]["output"][0]
        client.send("conversation.item.truncate", item_id=item["id"], content_index=0, audio_end_ms=60_000)
        assert (await client.refused())["param"] == "audio_end_ms"


async def test_sound_that_nobody_commits_is_bounded() -> None:
    async with session(Bench(limits=Limits(buffer_s=2))) as client:
        client.detection(None)
        client.speak(noise(3))
        assert (await client.refused())["code"] == "input_audio_buffer_full"
        client.send("input_audio_buffer.clear")
        await client.seen("input_audio_buffer.cleared")
        client.speak(noise(1))
        client.send("input_audio_buffer.commit")
        await client.seen("input_audio_buffer.committed")


async def test_a_voice_that_never_stops_is_cut_into_turns() -> None:
    bench = Bench(limits=Limits(turn_s=5))
    async with session(bench) as client:
        client.detection({"type": "server_vad", "create_response": False})
        client.speak(np.concatenate((quiet(0.5), *[noise(0.5), quiet(0.1)] * 30)))
        await client.seen("input_audio_buffer.committed", 2)
        assert all(samples <= 7 * 16_000 for samples, _ in bench.stt.heard)


async def test_a_day_of_silence_is_not_kept() -> None:
    async with session() as client:
        for _ in range(1000):
            client.send("input_audio_buffer.append", audio=b64(quiet(1)))
        client.send("input_audio_buffer.clear")
        await client.seen("input_audio_buffer.cleared")
        client.send("input_audio_buffer.commit")
        assert (await client.refused())["code"] == "input_audio_buffer_commit_empty"


async def test_a_thousand_small_pieces_are_one_turn() -> None:
    bench = Bench()
    turn = np.concatenate((quiet(0.5), noise(4), quiet(1)))
    async with session(bench) as client:
        for at in range(0, turn.size, 132):
            client.send("input_audio_buffer.append", audio=b64(turn[at : at + 132]))
        await client.seen("response.done")
        assert len(client.of("input_audio_buffer.committed")) == 1 and len(bench.stt.heard) == 1


async def test_the_oldest_items_are_forgotten() -> None:
    bench = Bench(limits=Limits(items=5))
    async with session(bench) as client:
        for number in range(20):
            client.say(f"line {number}")
        client.send("response.create")
        await client.seen("response.done")
        assert [message.text for message in bench.mind.asked[0].messages] == [f"line {n}" for n in range(15, 20)]


@pytest.mark.parametrize(
    ("limits", "code"), [(Limits(session_s=90), "session_expired"), (Limits(idle_s=30), "session_idle")]
)
async def test_a_session_ends_in_time_and_says_why(limits: Limits, code: str) -> None:
    async with session(Bench(limits=limits)) as client:
        for _ in range(5):
            client.say("still there")
            await asyncio.sleep(20)
        if code == "session_idle":
            assert client.line.closed is None
        assert (await client.refused())["code"] == code
        await asyncio.sleep(2)
        assert client.line.closed == (1001, code)


async def test_an_answer_that_is_under_way_when_the_session_ends_is_cancelled() -> None:
    bench = Bench(mind=Mind([[TextPiece("word ")] * 1000], delay_s=1), limits=Limits(session_s=20))
    async with session(bench) as client:
        client.say("talk")
        client.send("response.create")
        assert (await client.seen("response.done"))["response"]["status"] == "cancelled"
        await asyncio.sleep(2)
        assert client.line.closed == (1001, "session_expired") and bench.mind.cancelled == 1


async def test_a_client_that_does_not_read_is_hung_up_on_and_costs_little_meanwhile() -> None:
    bench = Bench(mind=Mind([says("One two three four five six. " * 500)]), limits=Limits(unsent_events=8))
    async with session(bench) as client:
        client.say("talk")
        client.send("response.create")
        await client.seen("response.output_audio.delta")
        client.line.reads.clear()
        before = len(client.events)
        for _ in range(200):
            client.send("input_audio_buffer.clear")
        await asyncio.sleep(60)
        assert client.line.closed == (1001, "the client does not read")
        assert len(client.events) == before and bench.mind.cancelled == 1 and bench.voice.made[0].destroyed


async def test_a_client_that_hangs_up_in_the_middle_leaves_nothing_running() -> None:
    bench = Bench(mind=Mind([says("One two three four five six. " * 50)]))
    async with session(bench) as client:
        client.say("talk")
        client.send("response.create")
        await client.seen("response.output_audio.delta")
        client.hang_up()
        await asyncio.sleep(2)
        assert bench.mind.cancelled == 1 and bench.voice.made[0].destroyed


@pytest.mark.parametrize("at_ms", range(0, 2600, 130))
async def test_an_answer_can_be_cancelled_at_any_time(at_ms: int) -> None:
    bench = Bench(mind=Mind([says("One two. Three four. Five six."), says("Next.")]))
    async with session(bench) as client:
        client.say("talk")
        client.send("response.create")
        await asyncio.sleep(at_ms / 1000)
        client.send("response.cancel")
        first = (await client.seen("response.done"))["response"]
        assert first["status"] in ("cancelled", "completed")
        client.send("response.create")
        second = (await client.seen("response.done", 2))["response"]
        assert second["status"] == "completed" and second["output"][0]["content"][0]["transcript"] == "Next."
        opened = [event["item"]["id"] for event in client.of("response.output_item.added")]
        ended = [event["item"]["id"] for event in client.of("response.output_item.done")]
        assert opened == ended and len(client.of("response.done")) == 2
        await asyncio.sleep(1)
        assert all(voice.destroyed for voice in bench.voice.made)
