"""The scripted model: strict about its script, and a stand-in for a provider with a pace."""

from __future__ import annotations

import pytest

from agents.base import clock
from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelResponse, TextDelta
from agents.core.messages import Message, ModelResult
from agents.core.model import PromptRequest
from agents.models.scripted import Call, Say, ScriptedModel, When, tokens


async def ask(model: ScriptedModel) -> tuple[ModelResult, list[tuple[float, AgentEvent]]]:
    events: list[tuple[float, AgentEvent]] = []

    async def notify(event: AgentEvent) -> None:
        events.append((clock.now(), event))

    request = PromptRequest("", [Message(sender="user", text="hi")], reply_id="r1")
    return await model.prompt(request, notify, AbortToken()), events


async def test_words_come_at_the_pace_of_a_provider() -> None:
    _, events = await ask(ScriptedModel(["one two three"], first_token_s=0.4, tokens_per_s=20))
    times = [(when, event.text) for when, event in events if isinstance(event, TextDelta)]
    assert times == [(pytest.approx(0.4), "one "), (pytest.approx(0.45), "two "), (pytest.approx(0.5), "three")]


async def test_a_script_is_used_up_exactly() -> None:
    with pytest.raises(AssertionError, match="1 scripted replies"), ScriptedModel(["one", "two"]) as model:
        await ask(model)
    with pytest.raises(GloveError) as exhausted:
        await ask(ScriptedModel())
    assert exhausted.value.code == "ERR_SCRIPT_EXHAUSTED"


async def test_an_unexpected_request_is_not_forgotten_even_if_its_failure_was() -> None:
    model = ScriptedModel()
    with pytest.raises(GloveError):
        await ask(model)
    with pytest.raises(AssertionError, match="1 unexpected requests, the first: 'hi'"):
        model.assert_finished()


@pytest.mark.parametrize("wrong", ["bye", lambda request: len(request.messages) > 1])
async def test_a_reply_can_be_meant_for_one_request_only(wrong: object) -> None:
    model = ScriptedModel([When("hi", "hello"), When(wrong, "never")])  # type: ignore[arg-type]
    assert (await ask(model))[0].messages[0].text == "hello"
    with pytest.raises(GloveError) as mismatch:
        await ask(model)
    assert mismatch.value.code == "ERR_SCRIPT_MISMATCH"
    with pytest.raises(AssertionError, match="unexpected"):
        model.assert_finished()


async def test_without_streaming_there_is_one_response() -> None:
    result, events = await ask(ScriptedModel([[Say("text"), Call("t", {"a": 1}, id="c1")]], stream=False))
    ((_, event),) = events
    assert isinstance(event, ModelResponse)
    assert (event.text, event.tool_calls) == ("text", tuple(result.messages[0].tool_calls or ()))


async def test_a_function_answers_for_ever() -> None:
    model = ScriptedModel(lambda request: f"you said {request.messages[-1].text}")
    for _ in range(3):
        assert (await ask(model))[0].messages[0].text == "you said hi"


@pytest.mark.parametrize("text", ["", " ", "one", " two  words \n", "a\u00a0b c"])
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text
