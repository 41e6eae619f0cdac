"""MiMo: always thinks, always gets its thoughts back, knows three efforts, and may live elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.core.events import TextDelta
from agents.core.messages import Message, ToolCall
from agents.core.model import PromptRequest
from agents.models.openai_request import Reasoning
from agents.models.providers import create_adapter
from tests.agents.core.scene import Ear
from tests.agents.models import fake_openai as fake
from tests.agents.models.asking import user
from tests.agents.models.fake_server import Answer

pytestmark = pytest.mark.realtime

THINKS = [fake.chunk(reasoning_content="Hm, "), fake.chunk(reasoning_content="so."), *fake.says("Yes.").frames]


async def ask(*messages: Message, **options: Any) -> tuple[Message, Ear, Any, dict[str, str]]:
    """The reply, what was told, the body and the headers of the request."""
    ear = Ear()
    async with fake.FakeOpenAi([Answer(THINKS)]).running() as server:
        model: Any = create_adapter("mimo", api_key="k-1234567", base_url=server.url, **options)
        result = await model.prompt(PromptRequest("", messages), ear.record, AbortToken())
        await model.close()
    return result.messages[0], ear, server.bodies[0], server.headers[0]


@pytest.mark.parametrize("reasoning", [None, False, True, Reasoning(effort="high")])
async def test_thoughts_are_kept_whatever_is_asked(reasoning: Any) -> None:
    said, ear, body, headers = await ask(user("hi"), reasoning=reasoning)
    assert (said.text, said.reasoning_content) == ("Yes.", "Hm, so.")
    assert [event.text for event in ear.of(TextDelta)] == ["Yes."]
    assert (body["model"], body["max_tokens"]) == ("mimo-v2.5", 8192)
    assert body.get("reasoning_effort") == ("high" if isinstance(reasoning, Reasoning) else None)
    assert headers["authorization"] == "Bearer k-1234567"


async def test_thoughts_go_back_with_plain_replies_and_with_calls() -> None:
    called = Message(sender="agent", reasoning_content="Look.", tool_calls=[ToolCall(tool_name="look", id="c1")])
    history = [user("hi"), Message(sender="agent", text="Yes.", reasoning_content="Hm."), user("look"), called]
    _, _, body, _ = await ask(*history)
    told = [message.get("reasoning_content") for message in body["messages"] if message["role"] == "assistant"]
    assert told == ["Hm.", "Look."]


@pytest.mark.parametrize(
    ("effort", "sent"), [("minimal", None), ("low", "low"), ("medium", "medium"), ("high", "high")]
)
async def test_it_is_asked_only_for_efforts_that_it_knows(effort: Any, sent: str | None) -> None:
    for options in ({"reasoning_effort": effort}, {"reasoning": Reasoning(effort=effort)}):
        _, _, body, _ = await ask(user("hi"), **options)
        assert body.get("reasoning_effort") == sent


async def test_its_thoughts_can_be_spoken() -> None:
    said, ear, _, _ = await ask(user("hi"), include_reasoning_in_text=True)
    assert said.text == "<think>Hm, so.</think>\nYes."
    assert "".join(event.text for event in ear.of(TextDelta)) == "Hm, so.Yes."


async def test_it_may_live_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake.FakeOpenAi([Answer(THINKS)]).running() as server:
        monkeypatch.setenv("MIMO_BASE_URL", server.url)
        model: Any = create_adapter("mimo", api_key="k")
        result = await model.prompt(PromptRequest("", [user("hi")]), Ear().record, AbortToken())
        await model.close()
    assert result.messages[0].text == "Yes."
