"""``glove serve-realtime``: its mind, its door, and the command itself."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from agents.core.messages import Message
from agents.core.model import PromptRequest, ToolSpec
from agents.models.intents import IntentFirst
from agents.models.scripted import Call, Fail, Hang, Reply, ScriptedModel
from appliance.commands.serve import serving, token_of
from appliance.config.places import ServeConfig
from appliance.session.build import Parts, load_parts
from appliance.session.serve_engine import engine_of
from appliance.session.serve_mind import AgentMind
from realtime.serving.contract import ClientCall, Question, TextPiece, Thought
from tests.appliance.conftest import SIMULATED, glove_process
from tests.appliance.house import simulated

WEATHER = ToolSpec("weather", "Tells the weather.", {"type": "object", "properties": {}})


def asks(*texts: str, **more: Any) -> Question:
    messages = [Message(sender="agent" if index % 2 else "user", text=text) for index, text in enumerate(texts)]
    return Question("", messages, **more)


@asynccontextmanager
async def minded(replies: Iterable[Reply] | None = None) -> AsyncIterator[tuple[AgentMind, ScriptedModel, Parts]]:
    """The mind of simulated parts; with ``replies`` a scripted model is behind the sentences."""
    import dataclasses

    parts = await load_parts(simulated(), lasting_timers=False)
    model = ScriptedModel(replies or ())
    if replies is not None:
        mind = dataclasses.replace(parts.mind, model=IntentFirst(model), calls_tools=True)
        parts = dataclasses.replace(parts, mind=mind)
    served = engine_of(parts).mind
    assert isinstance(served, AgentMind)
    try:
        yield served, model, parts
    finally:
        await parts.close()


async def answer(mind: AgentMind, question: Question) -> list[Thought]:
    told: list[Thought] = []
    await mind.answer(question, told.append)
    return told


def text_of(told: list[Thought]) -> str:
    return "".join(thought.text for thought in told if isinstance(thought, TextPiece))


async def test_sums_are_done_without_any_model() -> None:
    async with minded() as (mind, _, _):
        assert "42" in text_of(await answer(mind, asks("What is seven times six?")))


async def test_sums_are_done_without_any_model_for_a_client_that_has_a_tool_for_them_too() -> None:
    async with minded() as (mind, _, parts):
        for tool in parts.mind.tools:
            theirs = ToolSpec(tool.name, "The client's own.", {"type": "object", "properties": {}})
            told = await answer(mind, asks("What is seven times six?", tools=[WEATHER, theirs]))
            assert "42" in text_of(told)
            assert not [thought for thought in told if isinstance(thought, ClientCall)]


async def test_what_needs_a_model_is_said_to_need_one() -> None:
    async with minded() as (mind, _, _):
        assert "language model" in text_of(await answer(mind, asks("Why is the sky blue?")))


async def test_nothing_is_promised_that_could_not_be_told() -> None:
    async with minded() as (mind, _, parts):
        await answer(mind, asks("Set a timer for five minutes."))
        assert not parts.mind.timers.running()


async def test_the_client_gives_instructions_conversation_and_tools() -> None:
    async with minded(["Blue."]) as (mind, model, _):
        question = asks("Hello.", "Hi.", "Which colour?", tools=(WEATHER,), language="en")
        told = await answer(mind, Question("Be brief.", question.messages, question.tools))
        assert text_of(told) == "Blue."
        request = model.requests[0]
        assert request.system_prompt.startswith("Be brief.")
        assert [message.text for message in request.messages] == ["Hello.", "Hi.", "Which colour?"]
        names = {tool.name for tool in request.tools}
        assert "weather" in names and not names & {"set_timer", "set_alarm"}


async def test_without_instructions_it_is_the_appliance() -> None:
    async with minded(["Yes."]) as (mind, model, parts):
        await answer(mind, asks("Who are you then?"))
        assert parts.mind.instructions in model.requests[0].system_prompt


async def test_a_tool_of_the_clients_is_handed_over_and_ends_the_answer() -> None:
    async with minded([(Call("weather", {"city": "Paris"}),)]) as (mind, model, _):
        told = await answer(mind, asks("Weather in Paris?", tools=(WEATHER,)))
        assert told == [ClientCall("weather", '{"city": "Paris"}')]
        assert len(model.requests) == 1


async def test_own_tools_are_used_on_the_way() -> None:
    async with minded([(Call("calculate", {"expression": "2+3"}),), "It is five."]) as (mind, model, _):
        told = await answer(mind, asks("Do the sum that I mean."))
        assert text_of(told) == "It is five."
        results = model.requests[1].messages[-1].tool_results
        assert results is not None and results[0].result.status == "success"


async def test_own_and_foreign_calls_in_one_breath_are_both_done() -> None:
    calls = (Call("calculate", {"expression": "2+3"}), Call("weather"))
    async with minded([calls]) as (mind, model, _):
        told = await answer(mind, asks("Both please.", tools=(WEATHER,)))
        assert told == [ClientCall("weather", "{}")] and len(model.requests) == 1


async def test_the_clients_tool_stands_in_for_ours() -> None:
    mine = ToolSpec("calculate", "Mine.", {"type": "object", "properties": {}})
    async with minded([(Call("calculate", {}),)]) as (mind, model, _):
        told = await answer(mind, asks("Do it.", tools=(mine,)))
        assert told == [ClientCall("calculate", "{}")]
        assert [tool.description for tool in model.requests[0].tools if tool.name == "calculate"] == ["Mine."]


async def test_without_tools_there_are_none() -> None:
    def bare(request: PromptRequest) -> bool:
        return not request.tools

    async with minded(["Four, I think."]) as (mind, model, _):
        told = await answer(mind, asks("What is two plus two?", own_tools=False))
        assert text_of(told) == "Four, I think." and bare(model.requests[0])


async def test_an_answer_to_results_of_tools_needs_no_word_of_the_user() -> None:
    from agents.core.messages import ToolCall, ToolResult, ToolResultData

    called = Message(sender="agent", tool_calls=[ToolCall(tool_name="weather", input_args={}, id="c1")])
    result = ToolResult(tool_name="weather", call_id="c1", result=ToolResultData(data="rain"))
    messages = [Message(sender="user", text="Weather?"), called, Message(sender="user", tool_results=[result])]
    async with minded(["It rains."]) as (mind, model, _):
        assert text_of(await answer(mind, Question("", messages, (WEATHER,)))) == "It rains."
        assert [bool(message.tool_results) for message in model.requests[0].messages] == [False, False, True]


async def test_a_fault_of_the_model_is_raised() -> None:
    async with minded([Fail(GloveError("ERR_X", "No."))]) as (mind, _, _):
        with pytest.raises(GloveError, match="No"):
            await answer(mind, asks("Hm?"))


async def test_cancelling_stops_the_model() -> None:
    async with minded([Hang()]) as (mind, _, _):
        asking = asyncio.create_task(answer(mind, asks("Hm?")))
        await asyncio.sleep(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert token_of(ServeConfig(host=host), Credentials((), {})) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "glove.local"])
def test_nobody_else_is_served_without_one(host: str) -> None:
    with pytest.raises(ConfigError) as refused:
        token_of(ServeConfig(host=host), Credentials((), {}))
    assert refused.value.code == "ERR_SERVE_TOKEN"
    assert token_of(ServeConfig(host=host), Credentials((), {"SERVE_TOKEN": "t" * 16})) == "t" * 16


def test_a_short_token_is_none() -> None:
    with pytest.raises(ConfigError, match="too short"):
        token_of(ServeConfig(), Credentials((), {"SERVE_TOKEN": "short"}))


@pytest.mark.realtime
async def test_a_port_that_is_taken_is_named() -> None:
    parts = await load_parts(simulated(), lasting_timers=False)
    try:
        async with serving(parts, ServeConfig(port=0)) as port:
            with pytest.raises(ConfigError) as refused:
                async with serving(parts, ServeConfig(port=port)):
                    pass
        assert refused.value.code == "ERR_SERVE_PORT" and str(port) in str(refused.value)
    finally:
        await parts.close()


def test_a_service_that_only_streams_is_not_enough() -> None:
    async def built() -> None:
        import dataclasses

        parts = await load_parts(simulated(), lasting_timers=False)
        try:
            engine_of(dataclasses.replace(parts, stt=None))
        finally:
            await parts.close()

    with pytest.raises(ConfigError, match="whole utterances"):
        asyncio.run(built())


def test_the_command_serves_until_it_is_stopped() -> None:
    from websockets.sync.client import connect

    Path("glove.toml").write_text(SIMULATED)
    process = glove_process("serve-realtime", "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline(), process.stdout.readline()]
        address = re.search(r"ws://127\.0\.0\.1:\d+/v1/realtime", lines[1])
        assert address is not None, lines
        with connect(f"{address[0]}?model=any") as connection:
            assert json.loads(connection.recv())["session"]["model"] == "any"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    finally:
        process.kill()
        _, errors = process.communicate()
    assert errors == ""
