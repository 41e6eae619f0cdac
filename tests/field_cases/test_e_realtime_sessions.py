"""Field cases of realtime sessions: they end, fall silent and stand still, and the conversation goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.core.tool import NoArgs, Tool
from realtime.agent_events import AgentHeard
from realtime.link_state import LinkMoved, LinkState, SessionReplaced
from realtime.s2s.events import Connected, ResponseDone
from realtime.testing import Close, Cut, Deaf, Expect, Hear, Pause, Say, Step, UntilGone, gemini, openai
from tests.realtime.agent.stage import Stage, glove, tone


def turn(text: str, answer: str, number: int, seconds: float = 0.5) -> Say:
    return Say(
        openai.user_turn(text, f"user_{number}"), openai.answer(answer, tone(seconds), f"r{number}", f"a{number}")
    )


async def slow(_args: NoArgs, _ctx: Any) -> str:
    await asyncio.sleep(20)
    return "done"


SLOW = Tool(name="slow", description="Is slow.", run=slow, args=NoArgs)


async def test_case_e27_a_session_is_replaced_before_its_cap_at_an_idle_moment_with_its_history() -> None:
    async def scripts() -> list[list[Step]]:
        ends = clock.wall().timestamp() + 100
        first = [*openai.accept(expires_at=ends), turn("I am Ada.", "Hello Ada.", 1), UntilGone()]
        second = [*openai.accept(history=2), turn("Who am I?", "You are Ada.", 2), UntilGone()]
        return [first, second]

    async with Stage(*await scripts(), microphone=True) as stage:
        started = clock.now()
        replaced = await stage.seen(SessionReplaced)
        assert 75 <= clock.now() - started <= 85
        assert replaced.why == "rotated" and replaced.gap_s == 0
        await stage.seen(AgentHeard, lambda heard: heard.text == "You are Ada.")
        await stage.quiet()
        assert [text for _, text in await stage.history()] == ["I am Ada.", "Hello Ada.", "Who am I?", "You are Ada."]
    assert stage.peer.most_at_once == 2
    told = [each["item"] for each in stage.peer.sessions[1].received if each["type"] == "conversation.item.create"]
    assert [(each["role"], each["content"][0]["text"]) for each in told] == [
        ("user", "I am Ada."),
        ("assistant", "Hello Ada."),
    ]
    asked = [each for session in stage.peer.sessions for each in session.received if each["type"] == "response.create"]
    assert not asked, "nobody is greeted a second time"


async def test_case_e27_a_replacement_waits_for_a_tool_that_runs() -> None:
    ends = clock.wall().timestamp() + 100
    script = [
        *openai.accept(expires_at=ends),
        Pause(65),
        Say(openai.user_turn("Work."), openai.tool_calls([("c1", "slow", "{}")])),
        Expect("conversation.item.create", {"item.type": "function_call_output"}),
        Expect("response.create"),
        Say(openai.answer("It is done.", tone(0.5), "r2")),
        UntilGone(),
    ]
    async with Stage(script, [*openai.accept(history=3), UntilGone()], agent=glove(SLOW)) as stage:
        began = clock.now()
        await stage.seen(SessionReplaced)
        assert 85 <= clock.now() - began <= 90
        assert ("agent", "It is done.") in await stage.history()


async def test_case_e27_a_tool_that_outlives_its_session_is_answered_in_the_next() -> None:
    ends = clock.wall().timestamp() + 100
    script = [
        *openai.accept(expires_at=ends),
        Pause(75),
        Say(openai.user_turn("Work."), openai.tool_calls([("c1", "slow", "{}")])),
        UntilGone(),
    ]
    after = [
        *openai.accept(history=1),
        Expect("conversation.item.create", {"item.role": "system"}, lambda told: "slow" in str(told)),
        Expect("response.create"),
        Say(openai.answer("It is done.", tone(0.5), "r2")),
        UntilGone(),
    ]
    async with Stage(script, after, agent=glove(SLOW)) as stage:
        await asyncio.sleep(120)
        assert ("agent", "It is done.") in await stage.history()


async def test_case_e28_what_is_announced_is_done_in_time_although_nothing_more_comes() -> None:
    first = [*gemini.accept(), Say(gemini.go_away(50)), UntilGone()]
    async with Stage(first, [*gemini.accept(), UntilGone()], gemini=True, microphone=True) as stage:
        began = clock.now()
        assert (await stage.seen(SessionReplaced)).gap_s == 0
        assert clock.now() - began < 45
    assert stage.peer.most_at_once == 2


async def test_case_e28_no_time_left_at_all_still_loses_nothing() -> None:
    first = [*openai.accept(), turn("I am Ada.", "Hello.", 1), Pause(3), Close(1001, "going away")]
    second = [*openai.accept(history=2), Hear(24_000), UntilGone()]
    async with Stage(first, second, microphone=True) as stage:
        replaced = await stage.seen(SessionReplaced)
        assert replaced.why == "recovered" and replaced.gap_s < 0.3
        await asyncio.sleep(2)


async def test_case_e29_late_pongs_end_nothing() -> None:
    script = [*openai.accept(), Deaf(30), Pause(40), Deaf(8), Pause(30), turn("Still there?", "Yes.", 1), UntilGone()]
    async with Stage(script) as stage:
        await stage.seen(AgentHeard)
        assert stage.agent.link.state is LinkState.LIVE
    assert len(stage.of(Connected)) == 1


async def test_case_e29_a_session_is_closed_before_it_is_resumed_where_the_provider_wants_it() -> None:
    first = [*gemini.accept(), Say(gemini.resumption("handle-1")), Say(gemini.go_away(10)), UntilGone()]
    second = [
        Expect("setup", {"setup.sessionResumption.handle": "handle-1"}),
        Say(gemini.setup_complete("live-2")),
        Hear(1600),
        UntilGone(),
    ]
    async with Stage(first, second, gemini=True, microphone=True) as stage:
        replaced = await stage.seen(SessionReplaced)
        assert replaced.resumed and replaced.gap_s <= 0.3
        await asyncio.sleep(1)
    assert stage.peer.most_at_once == 1


async def test_case_e29_a_handle_that_is_refused_costs_only_the_providers_memory() -> None:
    first = [
        *gemini.accept(),
        Say(gemini.transcript("I am Ada."), gemini.answer("Hello.", tone(0.3))),
        Say(gemini.resumption("handle-1")),
        Say(gemini.go_away(20)),
        UntilGone(),
    ]
    refused = [Expect("setup"), Close(1008, "the session is gone")]
    third = [*gemini.accept(history=True), UntilGone()]
    async with Stage(first, refused, third, gemini=True) as stage:
        replaced = await stage.seen(SessionReplaced)
        assert replaced.why == "recovered" and not replaced.resumed
        await asyncio.sleep(0.5)
    assert "Ada" in str(stage.peer.sessions[2].received)


@pytest.mark.parametrize("end", [Close(1000), Close(1001), Cut(), Close(1008, "policy"), Close(1011, "internal error")])
async def test_case_e30_however_a_session_ends_the_question_in_the_air_is_answered(end: Step) -> None:
    first = [*openai.accept(), Say(openai.user_turn("What time is it?")), end]
    second = [
        *openai.accept(history=1),
        Expect("response.create"),
        Say(openai.answer("It is noon.", tone(0.5))),
        Pause(1),
        UntilGone(),
    ]
    async with Stage(first, second) as stage:
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert await stage.history() == [("user", "What time is it?"), ("agent", "It is noon.")]
    assert [event.why for event in stage.of(SessionReplaced)] == ["recovered"]
    assert stage.of(SessionReplaced)[0].gap_s < 0.3


async def test_case_e30_what_was_being_said_when_a_session_ended_is_heard_by_the_next() -> None:
    first = [*openai.accept(), Hear(24_000), Say([openai.speech_started()]), Hear(24_000), Cut()]
    second = [*openai.accept(), Hear(40_000), turn("Where is my bag?", "In the hall.", 1), UntilGone()]
    async with Stage(first, second, microphone=True) as stage:
        await stage.seen(AgentHeard)
        await stage.quiet()
        assert await stage.history() == [("user", "Where is my bag?"), ("agent", "In the hall.")]


async def test_case_e30_an_answer_that_broke_off_goes_on_without_saying_anything_twice() -> None:
    piece = [openai.words("The first half", "r1", "a1"), *openai.speech(tone(1.0), "r1", "a1")]
    first = [
        *openai.accept(),
        Say(openai.user_turn("Tell."), [openai.response_created("r1"), *piece]),
        Pause(0.3),
        Cut(),
    ]
    second = [
        *openai.accept(history=2),
        Expect("conversation.item.create", {"item.role": "system"}, lambda told: "The first half" in str(told)),
        Expect("response.create"),
        Say(openai.answer("and the second.", tone(0.5), "r2")),
        UntilGone(),
    ]
    async with Stage(first, second) as stage:
        await stage.seen(AgentHeard, lambda heard: heard.text == "and the second.")
        await stage.quiet()
        assert [text for _, text in await stage.history()] == ["Tell.", "The first half", "and the second."]


async def test_case_e30_sessions_that_fail_again_and_again_are_given_up_and_healthy_time_pays_back() -> None:
    bad = [[*openai.accept(), Pause(1), Close(1011)] for _ in range(8)]
    async with Stage(*bad, [*openai.accept(), UntilGone()]) as stage:
        await asyncio.sleep(60)
        lost = stage.of(LinkMoved)
        assert any(event.state is LinkState.LOST for event in lost)
    # An end every few minutes is routine, and uses nothing up.
    rare = [[*openai.accept(), Pause(130), Close(1011)] for _ in range(6)]
    async with Stage(*rare, [*openai.accept(), UntilGone()]) as stage:
        await asyncio.sleep(6 * 131 + 20)
        assert not any(event.state is LinkState.LOST for event in stage.of(LinkMoved))
        assert stage.agent.link.recoveries == 6


async def test_case_e30_a_stalled_answer_is_asked_for_again_in_another_session() -> None:
    first = [*openai.accept(), Say(openai.user_turn("Well?"), [openai.response_created("r1")]), UntilGone()]
    second = [*openai.accept(history=1), Expect("response.create"), Say(openai.answer("Well.", tone(0.3))), UntilGone()]
    async with Stage(first, second) as stage:
        await stage.seen(AgentHeard)
        assert ("agent", "Well.") in await stage.history()


async def test_case_e31_after_a_tool_and_after_an_interruption_the_model_is_asked_to_go_on() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Work."), openai.tool_calls([("c1", "slow", "{}")])),
        Pause(5),
        Say(openai.user_turn("Still?", "user_2"), openai.answer("Yes.", tone(0.3), "r2", "a2")),
        Expect("conversation.item.create", {"item.type": "function_call_output"}),
        Expect("response.create"),
        Say(openai.answer("It is done.", tone(0.5), "r3", "a3")),
        UntilGone(),
    ]
    async with Stage(script, agent=glove(SLOW)) as stage:
        await stage.seen(AgentHeard, lambda heard: heard.text == "It is done.")
        assert len(stage.of(ResponseDone)) == 3
