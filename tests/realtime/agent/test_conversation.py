"""A conversation with a realtime model as its user and its record notice it, on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel

from agents.core.messages import ToolResultData
from agents.core.tool import NoArgs, Tool
from realtime.agent_events import AgentFault, AgentHeard, AgentSaid, ToolFinished, UserSaid
from realtime.s2s.events import AgentSpeechStopped, Interrupted, ResponseDone
from realtime.testing import Expect, Pause, Say, UntilGone, openai
from tests.realtime.agent.stage import Stage, glove, tone


class City(BaseModel):
    city: str


async def _weather(args: City, _ctx: Any) -> ToolResultData:
    return ToolResultData(data=f"rain in {args.city}", renderData={"icon": "cloud"}, summary="rain")


WEATHER = Tool(name="weather", description="Tells the weather.", run=_weather, args=City)


async def test_a_spoken_question_is_answered_and_kept_as_it_was_heard() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("What time is it?")),
        Say(openai.answer("It is noon.", tone(1.0))),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert await stage.history() == [("user", "What time is it?"), ("agent", "It is noon.")]
        assert [message.heard for message in await stage.glove.store.get_messages()] == [None, "complete"]
    assert [event.text for event in stage.of(UserSaid)] == ["What time is it?"]
    assert [event.text for event in stage.of(AgentSaid)] == ["It is noon."]


async def test_words_that_come_after_the_answer_stand_before_it() -> None:
    late = [*openai.transcript("What time is it?")]
    script = [
        *openai.accept(),
        Say(openai.user_turn()),
        Say(openai.answer("It is noon.", tone(0.4))),
        Pause(2.0),
        Say(late),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        await stage.seen(UserSaid)
        await stage.quiet()
        assert await stage.history() == [("user", "What time is it?"), ("agent", "It is noon.")]


async def test_an_interrupted_answer_is_kept_as_far_as_it_was_heard_and_truncated_there() -> None:
    words = "one two three four five six seven eight nine ten"
    script = [
        *openai.accept(),
        Say(openai.user_turn("Count.")),
        Say(openai.answer(words, tone(5.0))),
        Pause(2.0),
        Say(openai.speech_started("item_2")),
        Expect("conversation.item.truncate", check=lambda told: abs(told["audio_end_ms"] - 2000) <= 30),
        Pause(0.5),
        Say([*openai.speech_stopped("item_2"), *openai.transcript("Stop.", "item_2")]),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        heard = await stage.seen(AgentHeard)
        assert not heard.complete and words.startswith(heard.text) and 2 <= len(heard.text.split()) <= 6
        await asyncio.sleep(3)
        assert await stage.history() == [("user", "Count."), ("agent", heard.text), ("user", "Stop.")]
        assert stage.player.idle


async def test_interrupt_always_says_interrupted_before_the_end_of_speech() -> None:
    started = [openai.response_created("r"), *openai.speech(tone(3.0), "r", "item_1")]
    script = [
        *openai.accept(),
        Say(started),
        Expect("response.cancel"),
        Expect("conversation.item.truncate"),
        Say([openai.response_done("r", "cancelled")]),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        stage.agent.interrupt()
        assert len(stage.of(Interrupted)) == 1
        await asyncio.sleep(0.5)
        stage.agent.interrupt()
        kinds = [type(event) for event in stage.events if isinstance(event, Interrupted | AgentSpeechStopped)]
        assert kinds == [Interrupted, Interrupted, AgentSpeechStopped]
        await asyncio.sleep(0.2)
    before = len(stage.of(Interrupted))
    stage.agent.interrupt()
    assert len(stage.of(Interrupted)) == before + 1


async def test_a_tool_is_run_and_the_model_gets_what_is_for_it() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Weather?"), openai.tool_calls([("call_1", "weather", '{"city": "Rome"}')])),
        Expect(
            "conversation.item.create",
            check=lambda told: (
                told["item"]["call_id"] == "call_1"
                and "rain in Rome" in told["item"]["output"]
                and "cloud" not in told["item"]["output"]
            ),
        ),
        Expect("response.create"),
        Say(openai.answer("It rains.", tone(0.5), "resp_2", "item_2")),
        UntilGone(),
    ]
    async with Stage(script, agent=glove(WEATHER)) as stage:
        await stage.seen(AgentHeard)
        await stage.quiet()
        kept = await stage.glove.store.get_messages()
        assert [each.text for each in kept] == ["Weather?", "", "tool results", "It rains."]
        assert kept[1].tool_calls is not None and kept[1].tool_calls[0].input_args == {"city": "Rome"}
    assert stage.of(ToolFinished)[0].result.renderData == {"icon": "cloud"}


async def test_every_bad_call_is_answered() -> None:
    async def broken(_args: NoArgs, _ctx: Any) -> None:
        raise RuntimeError("out of ink")

    tools = [
        WEATHER,
        Tool(name="print", description="Prints.", run=broken, args=NoArgs),
        Tool(name="secret", description="Is not offered.", run=broken, args=NoArgs),
    ]
    calls = [
        ("c1", "nothing", "{}"),
        ("c2", "weather", "{oops"),
        ("c3", "weather", "{}"),
        ("c4", "print", ""),
        ("c5", "secret", "{}"),
    ]
    outputs: dict[str, str] = {}

    def note(told: Any) -> bool:
        outputs[told["item"]["call_id"]] = told["item"]["output"]
        return True

    script = [
        *openai.accept(),
        Say(openai.tool_calls(calls)),
        *[Expect("conversation.item.create", check=note) for _ in calls],
        Expect("response.create"),
        UntilGone(),
    ]
    async with Stage(script, agent=glove(*tools, max_retries=0), exclude_tools=["Secret"]) as stage:
        names = [each.name for each in await stage.agent.exposed_tools()]
        await asyncio.sleep(1)
    assert names == ["weather", "print"]
    assert "Unknown tool: nothing" in outputs["c1"]
    assert "not valid JSON" in outputs["c2"]
    assert "Invalid arguments" in outputs["c3"]
    assert "out of ink" in outputs["c4"]
    assert "Unknown tool: secret" in outputs["c5"]


async def test_a_tool_that_hangs_is_stopped_and_answered() -> None:
    async def hang(_args: NoArgs, _ctx: Any) -> None:
        await asyncio.sleep(10_000)

    tool = Tool(name="hang", description="Hangs.", run=hang, args=NoArgs)
    script = [
        *openai.accept(),
        Say(openai.tool_calls([("c1", "hang", "{}")])),
        Expect("conversation.item.create", check=lambda told: "did not end within 7 s" in told["item"]["output"]),
        Expect("response.create"),
        UntilGone(),
    ]
    async with Stage(script, agent=glove(tool), tool_limit_s=7.0):
        await asyncio.sleep(8)


async def test_what_is_written_is_answered_and_kept() -> None:
    script = [
        *openai.accept(),
        Expect("conversation.item.create", {"item.role": "user"}),
        Expect("response.create"),
        Say(openai.answer("Hello.", tone(0.3))),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        stage.agent.say("Hi!")
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert await stage.history() == [("user", "Hi!"), ("agent", "Hello.")]


async def test_events_and_context_are_told_in_silence_when_the_user_speaks() -> None:
    state = {"door": "open"}
    agent = glove()
    agent.add_context_provider(lambda _abort: f"The door is {state['door']}.")
    script = [
        *openai.accept(history=1),
        Say(openai.user_turn("Is it closed?")),
        Expect("conversation.item.create", {"item.role": "system"}, lambda told: "door is closed" in str(told)),
        Expect("conversation.item.create", {"item.role": "system"}, lambda told: "Parcel" in str(told)),
        Say(openai.answer("Yes.", tone(0.3))),
        UntilGone(),
    ]
    async with Stage(script, agent=agent, started=False) as stage:
        stage.agent._agent.set_wake_handler(lambda wake: asyncio.sleep(10_000))  # pyright: ignore
        await stage.agent.start()
        state["door"] = "closed"
        await agent.emit_event("e1", "post", "arrived", "Parcel is here.", when_idle="defer")
        await stage.seen(ResponseDone)
        await stage.quiet()
        assert not await (await agent.driven()).has_news()
    assert not stage.of(AgentFault)
