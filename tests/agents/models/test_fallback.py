"""A model in trouble: the appliance answers by itself, says so once, never mixes answers, and goes back when it can."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import ModelProgress, ModelResponse, ModelResponseComplete, TextDelta
from agents.core.glove import Glove
from agents.core.messages import Message, ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.alone import AloneModel
from agents.models.fallback import FallbackModel, Health
from agents.models.intents import IntentFirst
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from tests.agents.core.scene import Ear, returning, tool

NOTICE = "I cannot reach my language model, so I answer by myself."
GONE = Fail(GloveError("ERR_MODEL_UNREACHABLE", "gone"))


class Talk:
    """Asks a fallback model one question after the other, as one conversation."""

    def __init__(self, *primary: Any, fallback: Any = None, **options: Any) -> None:
        self.primary = ScriptedModel(primary, name="cloud")
        self.other = fallback or ScriptedModel(lambda _: "Alone.", name="own")
        self.model = FallbackModel(self.primary, self.other, **options)
        self.ear = Ear()

    async def ask(self, language: str | None = None, abort: AbortToken | None = None) -> str:
        self.ear.events.clear()
        request = PromptRequest("", [Message(sender="user", text="hm?")], (), "r1", language)
        result = await self.model.prompt(request, self.ear.record, abort or AbortToken())
        assert [message.id for message in result.messages] == ["r1"]
        spoken = "".join(event.text for event in self.ear.of(TextDelta))
        assert spoken == result.messages[0].text
        assert self.ear.of(ModelResponseComplete)[-1].text == spoken
        assert {event.reply_id for event in self.ear.of(TextDelta)} <= {"r1"}
        return spoken


async def test_a_model_in_good_health_answers_alone() -> None:
    talk = Talk("Hello.")
    assert await talk.ask() == "Hello."
    assert talk.model.health is Health.GOOD
    assert talk.other.requests == []
    assert talk.model.name == "cloud"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ERR_MODEL_UNREACHABLE", "cannot reach"),
        ("ERR_MODEL_RATE_LIMIT", "no more questions"),
        ("ERR_MODEL_AUTH", "does not accept my key"),
    ],
)
async def test_trouble_is_named_and_the_question_answered(code: str, words: str) -> None:
    talk = Talk(Fail(GloveError(code, "x")))
    answer = await talk.ask()
    assert words in answer
    assert answer.endswith(" Alone.")
    assert talk.model.fault is not None and talk.model.fault.code == code


async def test_it_is_said_once_per_time_of_trouble_and_not_more_than_twice_a_minute() -> None:
    talk = Talk(GONE, GONE, "Back.", GONE, "Back.", GONE)
    assert await talk.ask() == f"{NOTICE} Alone."
    assert await talk.ask() == "Alone."
    await asyncio.sleep(5)
    assert await talk.ask() == "Alone."  # tried again, still gone
    await asyncio.sleep(10)
    assert await talk.ask() == "Back."
    assert await talk.ask() == "Alone."  # a new time of trouble, but only 15 s after the last notice
    await asyncio.sleep(6)
    assert await talk.ask() == "Back."
    await asyncio.sleep(20)
    assert await talk.ask() == f"{NOTICE} Alone."
    talk.primary.assert_finished()


async def test_the_model_is_left_alone_longer_and_longer() -> None:
    talk = Talk(GONE, GONE, GONE)
    tries: list[int] = []
    for _ in range(17):
        await talk.ask()
        tries.append(len(talk.primary.requests))
        await asyncio.sleep(1)
    assert tries == [1] * 5 + [2] * 10 + [3] * 2


async def test_only_one_question_at_a_time_tries_again() -> None:
    talk = Talk(GONE, Say("Back.", delay_s=3), "Good.")
    await talk.ask()
    await asyncio.sleep(6)
    trying = asyncio.ensure_future(talk.model.prompt(_question(), Ear().record, AbortToken()))
    await asyncio.sleep(1)
    assert talk.model.health is Health.TRYING
    assert await talk.ask() == "Alone."
    assert (await trying).messages[0].text == "Back."
    assert await talk.ask() == "Good."


async def test_a_silent_model_is_given_eight_seconds() -> None:
    talk = Talk(Hang(), Say("Slow.", delay_s=7.9))
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await talk.ask() == f"{NOTICE} Alone."
    assert loop.time() - began == pytest.approx(8.0)
    await asyncio.sleep(10)
    assert await talk.ask() == "Slow."
    assert talk.model.health is Health.GOOD


async def test_a_model_that_has_begun_may_take_its_time_and_is_never_mixed_with_another() -> None:
    talk = Talk([Say("Once upon "), Say("a time.", delay_s=30)], [Say("Once upon "), GONE], "Again.")
    assert await talk.ask() == "Once upon a time."
    with pytest.raises(GloveError, match="gone"):
        await talk.ask()
    assert talk.other.requests == []
    assert await talk.ask() == "Again."


async def test_signs_of_work_keep_a_model_but_are_no_answer() -> None:
    class Thinker:
        name = "thinker"

        async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
            await asyncio.sleep(5)
            await notify(ModelProgress(request.reply_id))
            await asyncio.sleep(20)
            raise GloveError("ERR_MODEL_UNREACHABLE", "lost")

    model = FallbackModel(Thinker(), ScriptedModel(["Alone."]))
    began = asyncio.get_running_loop().time()
    result = await model.prompt(_question(), Ear().record, AbortToken())
    assert asyncio.get_running_loop().time() - began == pytest.approx(25)
    assert result.messages[0].text == f"{NOTICE} Alone."


async def test_what_a_given_up_model_still_says_is_not_heard() -> None:
    class Stubborn:
        name = "stubborn"

        async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
            try:
                await asyncio.sleep(100)
            finally:
                await notify(TextDelta("too late", request.reply_id))
            raise AssertionError

    ear = Ear()
    model = FallbackModel(Stubborn(), ScriptedModel(["Alone."]))
    await model.prompt(_question(), ear.record, AbortToken())
    assert "too late" not in "".join(event.text for event in ear.of(TextDelta))


async def test_what_a_failed_model_says_afterwards_is_not_heard_either() -> None:
    class Echoing:
        name = "echoing"

        async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
            async def later() -> None:
                await asyncio.sleep(1)
                await notify(TextDelta("too late", request.reply_id))

            self.late = asyncio.ensure_future(later())
            raise GloveError("ERR_MODEL_UNREACHABLE", "lost")

    ear, primary = Ear(), Echoing()
    model = FallbackModel(primary, ScriptedModel([Say("Alone.", delay_s=2)]))
    await model.prompt(_question(), ear.record, AbortToken())
    await primary.late
    assert "".join(event.text for event in ear.of(TextDelta)) == f"{NOTICE} Alone."


async def test_a_fault_of_the_question_is_not_trouble() -> None:
    talk = Talk(Fail(GloveError("ERR_MODEL_REQUEST", "too long")))
    with pytest.raises(GloveError, match="too long"):
        await talk.ask()
    assert talk.model.health is Health.GOOD


async def test_a_user_who_stops_a_try_leaves_it_to_the_next_question() -> None:
    talk = Talk(GONE, Hang(), "Back.")
    await talk.ask()
    await asyncio.sleep(6)
    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await talk.ask(abort=abort)
    assert talk.model.health is Health.TROUBLED
    assert await talk.ask() == "Back."


async def test_the_notice_is_in_the_language_of_the_question_and_in_answers_given_at_once() -> None:
    talk = Talk(GONE, fallback=ScriptedModel(["Da."], stream=False))
    ear = Ear()
    result = await talk.model.prompt(_question("de-AT"), ear.record, AbortToken())
    assert result.messages[0].text == "Ich erreiche mein Sprachmodell nicht, deshalb antworte ich selbst. Da."
    assert [event.text for event in ear.of(ModelResponse)] == [result.messages[0].text]


async def test_changes_are_told() -> None:
    changes: list[tuple[Health, str | None]] = []
    talk = Talk(GONE, "Back.", on_change=lambda health, fault: changes.append((health, fault and fault.code)))
    await talk.ask()
    await asyncio.sleep(6)
    await talk.ask()
    assert changes == [
        (Health.TROUBLED, "ERR_MODEL_UNREACHABLE"),
        (Health.TRYING, "ERR_MODEL_UNREACHABLE"),
        (Health.GOOD, None),
    ]


async def test_what_a_tool_found_is_told_even_if_the_model_is_lost_in_between() -> None:
    primary = ScriptedModel([Call("look", {}), GONE])
    glove = Glove(model=IntentFirst(FallbackModel(primary, AloneModel())))
    glove.fold(tool("look", returning("It is grey.")))
    reply = await glove.build().process_request("how is the sky?")
    assert reply.text == f"{NOTICE} It is grey."


async def test_alone_it_says_what_it_can_do_and_tells_events_in_their_own_words() -> None:
    glove = Glove(model=IntentFirst(FallbackModel(ScriptedModel([GONE]), AloneModel()))).build()
    first = await glove.process_request("why?")
    assert first.text == f"{NOTICE} That needs my language model."
    assert (await glove.process_request("why?")).text == "I can't answer that without my language model."
    await glove.emit_event("e1", "shell", "note", "The washing is done.", when_idle="wake")
    await asyncio.sleep(1)
    assert (await glove.store.get_messages())[-1].text == "The washing is done."
    await glove.emit_event("e2", "shell", "note", "The post is here.", when_idle="defer")
    assert (await glove.process_request("why?")).text == "The post is here. That needs my language model."


def _question(language: str | None = None) -> PromptRequest:
    return PromptRequest("", [Message(sender="user", text="hm?")], (), "r1", language)


async def test_warm_and_close_reach_both_models() -> None:
    done: list[str] = []

    class Warmable(AloneModel):
        async def warm(self) -> None:
            done.append("warm")

        async def close(self) -> None:
            done.append("close")

    model = FallbackModel(Warmable(), ScriptedModel())
    await model.warm()
    await model.close()
    assert done == ["warm", "close"]
