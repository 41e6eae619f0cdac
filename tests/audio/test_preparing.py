"""Answers that are prepared while it is waited whether the user goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.base.scope import Scope
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from audio.preparing import LONGEST_S, Preparation
from audio.turns.contract import TurnSettings
from audio.turns.foresight import TRIES
from audio.voice import VoiceSettings
from tests.support.session import Session

EAGER = VoiceSettings(turns=TurnSettings(preemptive=True))


def eager(model: ScriptedModel, **options: Any) -> Session:
    return Session(model, settings=EAGER, **options)


def used(session: Session) -> list[bool]:
    return [event.data["used"] for event in session.of("metric") if event.name == "prepared"]


def latency(session: Session) -> Any:
    return next(event for event in session.of("metric") if event.name == "voice_to_voice")


async def test_the_model_thinks_while_the_hold_runs() -> None:
    async with eager(ScriptedModel(["It is noon."], first_token_s=0.5)) as session:
        await session.say("What time is it?")
        await session.settle()
        assert latency(session).data["agent_ms"] < 5, "it had thought already"
        assert used(session) == [True]
        assert len(session.types("user_turn", "agent_text")) == 2
        assert await session.history() == [("user", "What time is it?"), ("agent", "It is noon.")]


async def test_without_leave_nothing_is_prepared() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.5)) as session:
        await session.say("What time is it?")
        await session.settle()
        assert latency(session).data["agent_ms"] == pytest.approx(500, abs=5)
        assert used(session) == []


async def test_what_was_prepared_is_silent_until_the_turn_is_committed() -> None:
    async with eager(ScriptedModel(["It is noon."])) as session:
        await session.say("What time is it?")
        await session.until(lambda: session.of("user_turn"))
        committed = session.of("user_turn")[0].t
        await session.settle()
        assert session.of("agent_speech_started")[0].t > committed
        assert session.of("agent_text")[0].t >= committed


async def test_speech_that_goes_on_throws_the_answer_away_without_a_trace() -> None:
    model = ScriptedModel([[Say("Which one? "), Hang()], "Both."])
    async with eager(model) as session:
        await session.say("Call my mother.", 0.8)
        await asyncio.sleep(0.6)
        assert len(model.requests) == 1 and not session.of("user_turn")
        await session.say("And my father.", 0.8)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Call my mother. And my father."]
        assert await session.history() == [("user", "Call my mother. And my father."), ("agent", "Both.")]
        assert used(session) == [False, True]
        assert session.heard_words() == 1


async def test_tools_wait_for_the_commit() -> None:
    ran: list[float] = []

    async def run(_args: NoArgs, _ctx: Any) -> str:
        ran.append(session.room.time_s)
        return "on"

    lamp = Tool(name="lamp", description="lamp", run=run, args=NoArgs)
    model = ScriptedModel([[Call("lamp")], "It is on."])
    async with eager(model, tools=(lamp,)) as session:
        await session.say("Turn on the lamp.")
        await session.settle()
        assert len(ran) == 1 and ran[0] >= session.of("user_turn")[0].t
        assert used(session) == [True]


async def test_a_tool_that_was_called_in_vain_never_runs() -> None:
    ran: list[str] = []

    async def run(_args: NoArgs, _ctx: Any) -> str:
        ran.append("ran")
        return "on"

    lamp = Tool(name="lamp", description="lamp", run=run, args=NoArgs)
    async with eager(ScriptedModel([[Call("lamp")], "It stays off."]), tools=(lamp,)) as session:
        await session.say("Turn on the lamp.", 0.8)
        await asyncio.sleep(0.6)
        await session.say("No, leave it off.", 0.8)
        await session.settle()
        assert ran == [] and not session.of("tool_use")
        assert session.of("agent_speech_stopped")[-1].heard == "It stays off."


async def test_a_sentence_that_breaks_off_is_not_asked_about() -> None:
    async with eager(ScriptedModel(["Sunny."])) as session:
        await session.say("Tell me about the", 0.8)
        await asyncio.sleep(0.9)
        await session.say("weather.", 0.6)
        await session.settle()
        assert used(session) == [True]


async def test_somebody_who_pauses_all_the_time_costs_a_few_calls_only() -> None:
    model = ScriptedModel(lambda _: "Yes.", first_token_s=2.0)
    async with eager(model) as session:
        for number in range(8):
            await session.say(f"Sentence {number}.", 0.6)
            await asyncio.sleep(0.6)
        await session.settle()
        assert len(session.of("user_turn")) == 1
        assert len(used(session)) == TRIES and len(model.requests) == TRIES + 1


async def test_a_nod_to_the_agent_is_not_asked_about() -> None:
    model = ScriptedModel(["One two three four five six seven eight nine ten eleven twelve."])
    async with eager(model) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        await session.say("Mhm.", 0.5)
        await session.settle()
        assert len(model.requests) == 1


async def test_words_whose_answer_was_never_heard_are_asked_about_with_what_follows() -> None:
    model = ScriptedModel([[Say("Never said.", 2.0)], "Both."])
    async with eager(model) as session:
        await session.say("Call my mother.", 0.8)
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(0.2)
        await session.say("And my father.", 0.8)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")][-1] == "Call my mother. And my father."
        assert model.requests[-1].messages[-1].text == "Call my mother. And my father."
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["Both."]


async def test_a_model_that_fails_ahead_is_asked_again() -> None:
    async with eager(ScriptedModel([Fail(RuntimeError("overloaded")), "It is noon."])) as session:
        await session.say("What time is it?")
        await session.settle()
        assert session.of("agent_speech_stopped")[0].heard == "It is noon."
        assert used(session) == [False] and not session.of("error")


async def test_stopping_the_session_ends_what_is_prepared() -> None:
    async with eager(ScriptedModel([[Say("Half. "), Hang()]])) as session:
        await session.say("What time is it?")
        await asyncio.sleep(0.5)
        assert not session.of("user_turn")
    names = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert names == []


class Agent:
    """Is asked ahead and never settles."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, AbortToken]] = []

    async def rehearse(self, request: str, abort: AbortToken, *, language: str | None = None) -> bool:
        self.asked.append((request, abort))
        await abort.race(asyncio.Event().wait())
        return False


async def test_a_prepared_answer_does_not_wait_for_ever() -> None:
    agent, outcomes = Agent(), list[bool]()
    preparation = Preparation(agent, Scope("test"), outcomes.append)
    preparation.begin("Hello.", "en")
    preparation.begin("Hello.", "en")
    await asyncio.sleep(LONGEST_S - 0.1)
    assert len(agent.asked) == 1 and outcomes == []
    await asyncio.sleep(0.2)
    assert outcomes == [False]
    assert preparation.commit("Hello.", "en") is None


async def test_only_one_answer_is_prepared_at_a_time() -> None:
    agent, outcomes = Agent(), list[bool]()
    preparation = Preparation(agent, Scope("test"), outcomes.append)
    preparation.begin("Hello.", "en")
    await asyncio.sleep(0.1)
    preparation.begin("Hello there.", "en")
    await asyncio.sleep(0.1)
    assert [(text, token.aborted) for text, token in agent.asked] == [("Hello.", True), ("Hello there.", False)]
    preparation.commit("Something else.", "en")
    await asyncio.sleep(0.1)
    assert outcomes == [False, False]
