"""Without a model the appliance says so, what it can do, and how to change it."""

from __future__ import annotations

import pytest

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent, ModelResponseComplete, TextDelta
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.everyday import everyday_tools
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.honest import HonestModel

_book = EverydayBook()
TOOLS = [tool.spec() for tool in everyday_tools(_book, TimerBook(_book))]


async def _answer(
    history: list[Message], language: str | None, tools: object = TOOLS
) -> tuple[Message, list[AgentEvent]]:
    events: list[AgentEvent] = []

    async def notify(event: AgentEvent) -> None:
        events.append(event)

    request = PromptRequest("", [*history, Message(sender="user", text="Why?")], tools, "reply_7", language)  # type: ignore[arg-type]
    return (await HonestModel().prompt(request, notify, AbortToken())).messages[0], events


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "it", "pt", "ja"])
async def test_first_answer_says_why_what_and_how(language: str) -> None:
    reply, events = await _answer([], language)
    assert "ANTHROPIC_API_KEY" in reply.text
    assert "glove.toml" in reply.text
    assert "{" not in reply.text
    assert reply.id == "reply_7"
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == reply.text
    assert isinstance(events[-1], ModelResponseComplete)


async def test_later_answers_are_short_and_vary() -> None:
    first, _ = await _answer([], "en")
    second, _ = await _answer([first], "en")
    third, _ = await _answer([first, second], "en")
    assert len(second.text) < len(first.text) / 3
    assert second.text != third.text
    cut = first.model_copy(update={"text": "I can't", "heard": "interrupted"})
    assert (await _answer([cut], "en"))[0].text == second.text


async def test_only_real_abilities_are_named() -> None:
    assert "shopping list" in (await _answer([], "en"))[0].text
    without = [tool for tool in TOOLS if tool.name != "add_to_list"]
    assert "shopping list" not in (await _answer([], "en", without))[0].text
    assert "By myself" not in (await _answer([], "en", []))[0].text


async def test_unknown_languages_get_english() -> None:
    assert (await _answer([], "sv"))[0].text == (await _answer([], None))[0].text
