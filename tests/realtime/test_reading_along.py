"""What a caller sees of the conversation besides hearing it, now and after coming back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.core.display import QuestionClosed, SlotTouched
from agents.core.events import (
    AgentEvent,
    SubagentCompleted,
    SubagentInvoked,
    TextDelta,
    TokenConsumption,
    ToolUse,
    ToolUseResult,
)
from agents.core.messages import TokenUsage, ToolResultData
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, Say, ScriptedModel
from realtime.browser.captions import Captions
from realtime.browser.doings import Doings
from realtime.browser.protocol import SlotRefusal, SlotTouch, parse
from realtime.browser.replay import Replay
from tests.realtime.peer import House, MemorySocket, until

LONG = "One two three four five six seven eight nine ten eleven twelve."


def look() -> Tool[NoArgs]:
    async def run(_: NoArgs, context: ToolContext) -> ToolResultData:
        return ToolResultData(data={"sky": "blue"}, speech="Blue.")

    return Tool(name="look", description="Look.", run=run, args=NoArgs)


def shown(message: dict[str, Any]) -> str:
    return f"{message['t']}:{message['event']['type']}" if message["t"] == "agent" else message["t"]


async def finished(socket: MemorySocket, turns: int = 1) -> None:
    """The caller hears everything at once, and ``turns`` replies are over."""
    await until(lambda: len(socket.of("heard")) + len(socket.of("interrupted")) >= turns)


def test_pieces_of_one_reply_are_kept_as_one_and_nothing_else_is_joined() -> None:
    replay = Replay()
    for message in (
        {"t": "speech", "turnId": 1, "text": "Hel"},
        {"t": "speech", "turnId": 1, "text": "lo."},
        {"t": "speech", "turnId": 1, "text": "Ring!", "announcement": True},
        {"t": "speech", "turnId": 1, "text": "On."},
        {"t": "speech", "turnId": 2, "text": "Next."},
        {"t": "utterance", "text": "hi"},
        {"t": "utterance", "text": "hi"},
    ):
        replay.add(message)
    assert [message["text"] for message in replay.messages] == ["Hello.", "Ring!", "On.", "Next.", "hi", "hi"]


def test_a_long_conversation_forgets_its_beginning_however_it_comes() -> None:
    replay = Replay(most_characters=1000)
    for turn in range(100):
        replay.add({"t": "utterance", "text": f"{turn:03d}"})
    kept = [message["text"] for message in replay.messages]
    assert kept == [f"{turn:03d}" for turn in range(100 - len(kept), 100)] and 10 < len(kept) < 40
    for _ in range(1000):
        replay.add({"t": "speech", "turnId": 1, "text": "x" * 10})
    assert sum(len(message["text"]) for message in replay.messages) <= 1000


async def test_a_caller_who_comes_back_is_told_the_conversation_again() -> None:
    model = ScriptedModel([[Say("Let me look."), Call("look")], "It is blue."])
    async with House([], tools=(look(),), model=model) as house:
        house.agent.past = (("user", "Good morning"), ("agent", "Good morning."))
        socket = await house.call()
        socket.say({"t": "say", "text": "sky?"})
        await finished(socket)
        socket.hang_up()
        ready = (await house.call()).of("ready")[0]
        assert ready["earlier"] == [
            {"who": "user", "text": "Good morning"},
            {"who": "assistant", "text": "Good morning."},
        ]
        told = [shown(message) for message in ready["replay"] if message.get("text") != " "]
        assert [name for name in told if not name.endswith(("token_consumption", "model_response_complete"))] == [
            *("utterance", "speech", "agent:tool_use", "agent:tool_use_result", "speech", "heard"),
        ]
        words = [
            message["text"].strip()
            for message in ready["replay"]
            if message["t"] == "speech" and message["text"] != " "
        ]
        assert words == ["Let me look.", "It is blue."]
        live = [shown(message) for message in socket.sent if isinstance(message, dict) and shown(message) in told]
        assert [name for name in live if name != "speech"] == [name for name in told if name != "speech"]


async def test_a_caller_who_comes_back_in_the_middle_of_a_reply_misses_no_word() -> None:
    async with House([LONG]) as house:
        first = await house.call()
        first.say({"t": "say", "text": "count"})
        await until(lambda: first.samples > 8000)
        second = await house.call()
        ready = second.of("ready")[0]
        before = "".join(message["text"] for message in ready["replay"] if message["t"] == "speech")
        assert ready["state"]["busy"]
        await finished(second)
        after = "".join(message["text"] for message in second.of("speech"))
        assert (before + after).strip() == LONG


async def test_what_was_heard_is_told_whole_or_cut() -> None:
    async with House(["Hello.", LONG]) as house:
        socket = await house.call()
        socket.say({"t": "say", "text": "hi"})
        await finished(socket)
        (heard,) = socket.of("heard")
        assert heard["text"] == "Hello." and heard["turnId"] == socket.of("speech")[0]["turnId"]
        socket.say({"t": "say", "text": "count"})
        await until(lambda: socket.samples > 24_000)
        socket.say({"t": "stop"})
        await finished(socket, 2)
        assert LONG.startswith(socket.of("interrupted")[0]["text"]) and len(socket.of("heard")) == 1


async def test_an_announcement_is_told_before_it_is_heard() -> None:
    async with House([]) as house:
        socket = await house.call()
        speaking = asyncio.create_task(house.session.voice.announce("Your tea is ready."))
        await until(lambda: socket.of("speech"))
        (told,) = socket.of("speech")
        assert told["announcement"] and told["text"] == "Your tea is ready." and not socket.of("heard")
        await speaking
        assert socket.of("heard")[0]["turnId"] == told["turnId"]
        socket.hang_up()
        assert (await house.call()).of("ready")[0]["history"] == [{"who": "assistant", "text": "Your tea is ready."}]


async def test_tasks_and_inbox_are_told_when_they_have_changed() -> None:
    todo = {"content": "Sweep", "activeForm": "Sweeping", "status": "pending"}
    model = ScriptedModel([Call("glove_update_tasks", {"todos": [todo]}), "Planned.", "Hello."])
    async with House([], model=model) as house:
        socket = await house.call()
        assert socket.of("ready")[0]["tasks"] == [] == socket.of("ready")[0]["inbox"]
        for turn, line in enumerate(("plan", "hi"), 1):
            socket.say({"t": "say", "text": line})
            await finished(socket, turn)
        await until(lambda: socket.of("records"))
        await asyncio.sleep(1)
        assert [[task["content"] for task in told["tasks"]] for told in socket.of("records")] == [["Sweep"]]
        socket.hang_up()
        assert (await house.call()).of("ready")[0]["tasks"][0]["content"] == "Sweep"


async def test_a_question_is_refused_and_kept_waiting_by_its_caller() -> None:
    async with House([]) as house:
        socket = await house.call()
        display = house.agent.display
        touched: list[object] = []
        display.events.on(SlotTouched, touched.append)
        asking = asyncio.create_task(display.push_and_wait("text_input", {"prompt": "Name?"}))
        await until(lambda: socket.of("slot"))
        slot_id = socket.of("slot")[0]["id"]
        assert socket.of("ready")[0]["state"]["busy"] is False
        socket.say({"t": "slot_touch", "id": slot_id})
        socket.say({"t": "slot_touch", "id": "slot_99"})
        await until(lambda: touched)
        socket.say({"t": "slot_reject", "id": slot_id})
        with pytest.raises(QuestionClosed):
            await asking
        socket.say({"t": "slot_reject", "id": slot_id})
        await until(lambda: len(socket.of("slot_resolve")) == 2)
        assert not socket.of("error") and len(touched) == 1


def test_the_callers_new_messages_are_understood() -> None:
    assert parse('{"t":"slot_reject","id":"slot_1"}') == SlotRefusal(t="slot_reject", id="slot_1")
    assert parse('{"t":"slot_touch","id":"slot_1"}') == SlotTouch(t="slot_touch", id="slot_1")


async def test_who_reads_along_is_spared_what_is_long_and_what_is_for_the_model() -> None:
    told: list[dict[str, Any]] = []
    doings = Doings(lambda: True, told.append)
    result = ToolResultData(data="x" * 100_000, renderData={"n": 1}, summary="short", speech="Said.")
    events: list[AgentEvent] = [
        ToolUse(id="a", name="look", input={"q": "x" * 100_000}),
        ToolUseResult(call_id="a", tool_name="look", result=result),
        TextDelta("words"),
        TokenConsumption(TokenUsage(tokens_in=3)),
    ]
    for event in events:
        await doings.record(event)
    assert [event["type"] for event in told] == ["tool_use", "tool_use_result", "token_consumption"]
    assert told[0]["input"] == {"truncated": True}
    assert told[1]["result"] == {"status": "success", "data": {"truncated": True}, "renderData": {"n": 1}}
    assert told[2]["consumption"]["tokens_in"] == 3


async def test_what_happens_in_another_room_is_not_told() -> None:
    told: list[dict[str, Any]] = []
    await Doings(lambda: False, told.append).record(ToolUse(id="a", name="look", input={}))
    assert told == []


async def test_what_a_subagent_says_is_no_caption() -> None:
    words: list[str] = []
    captions = Captions(lambda: True, words.append)
    for event in (
        TextDelta("Wait. ", "r"),
        SubagentInvoked(name="scout", prompt="look"),
        TextDelta("a report", "s"),
        SubagentCompleted(name="scout", status="success"),
        TextDelta("It rains.", "t"),
    ):
        await captions.record(event)
    assert "".join(words) == "Wait. It rains."
