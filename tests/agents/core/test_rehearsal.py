"""A model call ahead of its request: invisible unless the request comes, and then never made twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import TextDelta
from agents.core.extensions.hooks import HookResult
from agents.core.glove import Glove
from agents.core.rehearsal import EVENTS_HELD
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from agents.testing import RecordingSubscriber, left_behind


class Stage:
    """An agent with a tool, and somebody who listens."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.ran = 0
        self.ear = RecordingSubscriber()
        self.glove = Glove(model=model, system_prompt="Be brief.").add_subscriber(self.ear)

        async def run(_args: NoArgs, _ctx: Any) -> str:
            self.ran += 1
            return "fine"

        self.glove.fold(Tool(name="look", description="Looks.", run=run, args=NoArgs)).build()
        self.token = AbortToken()

    def rehearse(self, text: str, language: str | None = None) -> asyncio.Task[bool]:
        return asyncio.create_task(self.glove.rehearse(text, self.token, language=language))

    async def lines(self) -> list[tuple[str, str]]:
        return [(message.sender, message.text) for message in await self.glove.store.get_messages()]


async def test_a_request_takes_over_the_call_that_was_made_ahead() -> None:
    stage = Stage(ScriptedModel(["It is noon."], first_token_s=1.0))
    call = stage.rehearse("What time is it?")
    await asyncio.sleep(0.8)
    began = asyncio.get_running_loop().time()
    answer = await stage.glove.process_request("What time is it?")
    assert asyncio.get_running_loop().time() - began == pytest.approx(0.2, abs=0.01)
    assert await call is True
    assert len(stage.model.requests) == 1
    assert await stage.lines() == [("user", "What time is it?"), ("agent", "It is noon.")]
    deltas = stage.ear.of(TextDelta)
    assert "".join(delta.text for delta in deltas) == "It is noon."
    assert {delta.reply_id for delta in deltas} == {answer.id}


async def test_nothing_of_it_is_noticed_before_the_request() -> None:
    stage = Stage(ScriptedModel([[Say("Let me look. "), Call("look")], "There."]))
    call = stage.rehearse("Where is it?")
    await asyncio.sleep(5.0)
    assert stage.ear.events == [] and await stage.lines() == [] and stage.ran == 0
    assert await stage.glove.store.get_turn_count() == 0
    await stage.glove.process_request("Where is it?")
    assert await call and stage.ran == 1 and len(stage.model.requests) == 2


async def test_another_request_gives_it_up_and_leaves_no_trace() -> None:
    stage = Stage(ScriptedModel([[Say("Half. "), Hang()], "Both."]))
    call = stage.rehearse("Call my mother.")
    await asyncio.sleep(0.5)
    await stage.glove.process_request("Call my mother and my father.")
    assert await call is False
    assert await stage.lines() == [("user", "Call my mother and my father."), ("agent", "Both.")]
    assert left_behind() == []


async def test_a_call_that_was_given_up_is_made_anew() -> None:
    stage = Stage(ScriptedModel([[Say("Half. "), Hang()], "Whole."]))
    call = stage.rehearse("Hello?")
    await asyncio.sleep(0.5)
    stage.token.abort("the user speaks on")
    assert await call is False
    assert (await stage.glove.process_request("Hello?")).text == "Whole."


async def test_a_failed_call_is_made_again_when_it_counts() -> None:
    stage = Stage(ScriptedModel([Fail(GloveError("ERR_MODEL_UNREACHABLE", "No route.")), "Here."]))
    assert await stage.rehearse("Hello?") is False
    assert (await stage.glove.process_request("Hello?")).text == "Here."


async def test_a_call_that_fails_later_fails_the_turn_that_took_it_over() -> None:
    fault = GloveError("ERR_MODEL_UNREACHABLE", "No route.")
    stage = Stage(ScriptedModel([[Say("Half. "), Fail(fault, 1.0)]]))
    call = stage.rehearse("Hello?")
    await asyncio.sleep(0.5)
    with pytest.raises(GloveError, match="No route"):
        await stage.glove.process_request("Hello?")
    assert await call is True
    assert (await stage.lines())[1] == ("agent", "Half. "), "what was said is kept"


async def test_aborting_the_turn_stops_the_call_that_it_took_over() -> None:
    stage = Stage(ScriptedModel([[Say("Half. "), Hang()]]))
    call = stage.rehearse("Hello?")
    await asyncio.sleep(0.5)
    turn = AbortToken()
    asking = asyncio.create_task(stage.glove.process_request("Hello?", turn))
    await asyncio.sleep(0.5)
    turn.abort("interrupted")
    with pytest.raises(Aborted):
        await asking
    assert await call is True and stage.token.aborted
    assert left_behind() == []


async def test_what_is_true_now_decides_whether_the_call_is_the_same() -> None:
    stage = Stage(ScriptedModel(["Noon.", "Evening."]))
    said = "It is noon."
    stage.glove.add_context_provider(lambda _: said)
    call = stage.rehearse("What time is it?")
    await asyncio.sleep(0.1)
    said = "It is six."
    assert (await stage.glove.process_request("What time is it?")).text == "Evening."
    assert await call is False


@pytest.mark.parametrize("delivery", ["iteration", "request", "history"])
async def test_context_that_has_not_changed_is_the_same(delivery: Any) -> None:
    stage = Stage(ScriptedModel(["Hi.", "Noon."]))
    stage.glove.add_context_provider(lambda _: "It is noon.", delivery=delivery, key="time")
    await stage.glove.process_request("Hello.")
    call = stage.rehearse("What time is it?", "en")
    await asyncio.sleep(0.1)
    assert (await stage.glove.process_request("What time is it?", language="en")).text == "Noon."
    assert await call is True


async def test_another_language_is_another_call() -> None:
    stage = Stage(ScriptedModel(["Hello.", "Hallo."]))
    call = stage.rehearse("Hallo", "en")
    await asyncio.sleep(0.1)
    assert (await stage.glove.process_request("Hallo", language="de")).text == "Hallo."
    assert await call is False


async def test_while_a_turn_runs_nothing_is_asked_ahead() -> None:
    stage = Stage(ScriptedModel([Say("Slow.", 2.0)]))
    asking = asyncio.create_task(stage.glove.process_request("One."))
    await asyncio.sleep(0.5)
    assert await stage.rehearse("Two.") is False
    await asking
    assert len(stage.model.requests) == 1


async def test_what_calls_a_hook_is_not_asked_ahead() -> None:
    stage = Stage(ScriptedModel([]))
    stage.glove.define_hook("clear", lambda _: HookResult(short_circuit="Cleared."))
    assert await stage.rehearse("/clear please") is False
    assert stage.model.requests == []


async def test_a_model_that_says_more_than_is_held_waits_and_loses_nothing() -> None:
    text = "word " * (3 * EVENTS_HELD)
    stage = Stage(ScriptedModel([text]))
    call = stage.rehearse("Talk.")
    await asyncio.sleep(1.0)
    assert not call.done(), "the model waits"
    assert (await stage.glove.process_request("Talk.")).text == text
    assert "".join(delta.text for delta in stage.ear.of(TextDelta)) == text
    assert await call is True


async def test_a_second_one_replaces_the_first() -> None:
    stage = Stage(ScriptedModel([[Say("One. "), Hang()], "Two."]))
    first = stage.rehearse("Hello")
    await asyncio.sleep(0.1)
    second_token = AbortToken()
    second = asyncio.create_task(stage.glove.rehearse("Hello there", second_token))
    await asyncio.sleep(0.1)
    assert await first is False and stage.token.aborted
    assert (await stage.glove.process_request("Hello there")).text == "Two."
    assert await second is True
