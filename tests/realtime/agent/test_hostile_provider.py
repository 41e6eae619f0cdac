"""Providers that talk nonsense, or at the wrong moment: the conversation goes on, and its record stays true."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.tool import NoArgs, Tool
from realtime.agent_events import AgentHeard, ToolFinished
from realtime.link_state import LinkState, SessionReplaced
from realtime.s2s.contract import S2SError, SessionConfig
from realtime.s2s.events import ResponseDone
from realtime.testing import Close, Expect, Pause, Say, UntilGone, gemini, openai
from tests.realtime.agent.stage import Stage, glove, tone


@pytest.mark.parametrize("after_s", [0.5, 1.5])
async def test_stopping_while_a_session_is_opened_is_a_plain_end_and_another_start_works(after_s: float) -> None:
    slow = [Pause(1), openai.accept()[0], Pause(1), *openai.accept()[1:], UntilGone()]
    after = [*openai.accept(), Say(openai.user_turn("Hi."), openai.answer("Hello.", tone(0.3))), UntilGone()]
    async with Stage(slow, after, started=False) as stage:
        starting = asyncio.create_task(stage.agent.start())
        await asyncio.sleep(after_s)
        await stage.agent.stop()
        with pytest.raises(S2SError):
            await starting
        await stage.agent.start()
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert [text for _, text in await stage.history()] == ["Hi.", "Hello."]


async def test_a_clock_that_is_ahead_of_the_providers_replaces_nothing_at_once() -> None:
    past = clock.wall().timestamp() - 100
    scripts = [[*openai.accept(expires_at=past), UntilGone()] for _ in range(20)]
    async with Stage(*scripts, microphone=True) as stage:
        stage.leftover()
        await asyncio.sleep(60)
        assert len(stage.of(SessionReplaced)) == 0


async def test_a_provider_that_always_says_goodbye_is_not_dialled_without_a_pause() -> None:
    scripts = [[*gemini.accept(), Say(gemini.go_away(0), gemini.go_away(0)), UntilGone()] for _ in range(100)]
    async with Stage(*scripts, gemini=True) as stage:
        stage.leftover()
        await asyncio.sleep(30)
        assert 1 <= len(stage.of(SessionReplaced)) <= 16


async def test_a_line_written_while_the_session_is_replaced_is_answered_once() -> None:
    ends = clock.wall().timestamp() + 100
    first = [
        *openai.accept(expires_at=ends),
        Expect("conversation.item.create", {"item.role": "user"}),
        Expect("response.create"),
        Pause(1.5),
        Say(openai.answer("Hello.", tone(0.3))),
        UntilGone(),
    ]
    second = [Pause(1), *openai.accept(), UntilGone()]
    third = [*openai.accept(history=2), UntilGone()]
    async with Stage(first, second, third) as stage:
        stage.leftover()
        while stage.agent.link.state is not LinkState.ROTATING:
            await asyncio.sleep(0.05)
        stage.agent.say("Hi!")
        await stage.seen(AgentHeard)
        await stage.quiet()
        await asyncio.sleep(5)
        assert await stage.history() == [("user", "Hi!"), ("agent", "Hello.")]


@pytest.mark.parametrize("ends", ["planned", "broken"])
async def test_a_record_that_cannot_be_read_for_a_while_does_not_end_the_conversation(ends: str) -> None:
    at = clock.wall().timestamp() + 100
    planned = [*openai.accept(expires_at=at), UntilGone()]
    broken = [*openai.accept(), Pause(81), Close(1011, "fault")]
    second = [*openai.accept(), Say(openai.user_turn("Hi."), openai.answer("Hello.", tone(0.3))), UntilGone()]

    async def unreadable() -> SessionConfig:
        raise GloveError("ERR_STORE", "The store cannot be read.")

    async with Stage(planned if ends == "planned" else broken, second) as stage:
        readable = stage.agent.config
        await asyncio.sleep(75)
        stage.agent.config = unreadable
        await asyncio.sleep(7)
        stage.agent.config = readable
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert await stage.history() == [("user", "Hi."), ("agent", "Hello.")]
    assert {event.why for event in stage.of(SessionReplaced)} == {"rotated" if ends == "planned" else "recovered"}


async def test_a_call_that_is_told_twice_is_run_once() -> None:
    ran: list[int] = []

    async def order(_args: NoArgs, _ctx: Any) -> str:
        ran.append(1)
        await asyncio.sleep(1)
        return "ordered"

    tool = Tool(name="order", description="Orders.", run=order, args=NoArgs)
    calls = openai.tool_calls([("c1", "order", "{}")])
    call = [each for each in calls if each["type"] == "response.function_call_arguments.done"]
    script = [
        *openai.accept(),
        Say(calls[:-1], call, calls[-1:]),
        Expect("conversation.item.create"),
        Expect("response.create"),
        Say(openai.answer("Done.", tone(0.3), "r2", "i2")),
        UntilGone(),
    ]
    async with Stage(script, agent=glove(tool)) as stage:
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert len(ran) == 1 and len(stage.of(ToolFinished)) == 1


async def test_words_that_come_after_all_was_heard_are_kept_once() -> None:
    answer = openai.answer("It is noon.", tone(0.3))
    done = [each for each in answer if each["type"] == "response.output_audio_transcript.done"]
    script = [*openai.accept(), Say(answer), Pause(2), Say(done), UntilGone()]
    async with Stage(script) as stage:
        await asyncio.sleep(5)
        assert await stage.history() == [("agent", "It is noon.")]


async def test_words_of_gemini_that_come_after_it_was_interrupted_were_not_said() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.transcript("Count."), gemini.words("one two three"), gemini.speech(tone(3.0))),
        Pause(2),
        Say(gemini.interrupted(), gemini.words(" four five six"), gemini.turn_complete()),
        Pause(1),
        UntilGone(),
    ]
    async with Stage(script, gemini=True, ignoring=["clientContent"]) as stage:
        await stage.seen(ResponseDone)
        await asyncio.sleep(5)
        said = " ".join(text for sender, text in await stage.history() if sender == "agent")
        assert said and "one two three".startswith(said)
