"""A conversation goes on with another model in mid-work, whatever the first one left in it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.core.messages import ContentPart, Message, Source, ToolResult, ToolResultData
from agents.core.model import PromptRequest, ToolSpec
from tests.agents.core.scene import Ear
from tests.agents.models import fake_anthropic, fake_bedrock, fake_openai
from tests.agents.models.benches import FORMATS
from tests.agents.models.fake_server import Answer

pytestmark = pytest.mark.realtime

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
PICTURE = ContentPart(type="image", source=Source(type="base64", media_type="image/png", data="AAAA"))

_THINKING = fake_anthropic.block(
    0, {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "sig"},
)  # fmt: skip

ANSWERS = {
    "anthropic, thinking": [
        fake_anthropic.start(), *_THINKING, *fake_anthropic.text(1, "I look."),
        *fake_anthropic.call(2, "toolu_1", "look"), *fake_anthropic.call(3, "toolu_2", "look"),
        *fake_anthropic.end("tool_use"),
    ],
    "mimo": [
        fake_openai.chunk(reasoning_content="Hm."), fake_openai.chunk(content="I look."),
        fake_openai.chunk(tool_calls=[fake_openai.call(0, "call:1", "look", extra_content={"google": {"s": "x"}})]),
        fake_openai.chunk(tool_calls=[fake_openai.call(1, "call:2", "look")]), fake_openai.chunk("tool_calls"),
    ],
    "bedrock, thinking": [
        *fake_bedrock.begin(), *fake_bedrock.thought(0, {"text": "Hm."}, {"signature": "sig"}),
        *fake_bedrock.text(1, "I look."), *fake_bedrock.call(2, "tooluse_1.x", "look"),
        *fake_bedrock.call(3, "tooluse_2.x", "look"), *fake_bedrock.end("tool_use"),
    ],
}  # fmt: skip
"""A reply with thoughts, text and two calls in each format."""


async def _ask(name: str, answer: Answer, history: list[Message]) -> tuple[Message, Any]:
    """The reply and the request that was sent; the server checks it."""
    form = FORMATS[name]
    async with form.server([answer]).running() as server:
        model: Any = form.model(server)
        try:
            result = await model.prompt(PromptRequest("Be brief.", history, (LOOK,)), Ear().record, AbortToken())
        finally:
            await model.close()
    return result.messages[0], server.bodies[0]


@pytest.mark.parametrize(("first", "then"), list(itertools.product(ANSWERS, FORMATS)))
async def test_another_model_takes_over_the_first_ones_calls(first: str, then: str) -> None:
    asked = Message(sender="user", text="what is up?", content=[ContentPart(type="text", text="what is up?"), PICTURE])
    said, _ = await _ask(first, Answer(ANSWERS[first]), [asked])
    said = Message.model_validate_json(said.model_dump_json())
    calls = said.tool_calls or []
    assert (said.reasoning_content, len(calls)) == ("Hm.", 2)
    # The second call was never answered: the user spoke first.
    seen = ToolResult(tool_name="look", call_id=calls[0].id, result=ToolResultData(data="the sky"))
    history = [asked, said, Message(sender="user", tool_results=[seen]), Message(sender="user", text="and now?")]
    reply, body = await _ask(then, FORMATS[then].answer([]), history)
    assert reply.text == ""
    sent = str(body["messages"])
    assert "I look." in sent and "the sky" in sent and "No result available" in sent and "AAAA" in sent
    same = first.split(",")[0] == then.split(",")[0]
    assert ("'sig'" in sent) == (same and first != "mimo")
    assert ("google" in sent) == (first == then == "mimo")
    if "thinking" in then:
        # Signed thoughts are missing where work is going on: the model does without until the user speaks again.
        assert ("enabled" in str(body)) == same
    if then == "mimo":
        assert "'reasoning_content': 'Hm.'" in sent


async def test_a_model_thinks_again_in_the_next_turn() -> None:
    said, _ = await _ask("mimo", Answer(ANSWERS["mimo"]), [Message(sender="user", text="hi")])
    results = [
        ToolResult(tool_name="look", call_id=call.id, result=ToolResultData(data="sky"))
        for call in said.tool_calls or []
    ]
    history = [
        Message(sender="user", text="hi"),
        said,
        Message(sender="user", tool_results=results),
        Message(sender="agent", text="The sky."),
        Message(sender="user", text="thanks"),
    ]
    for name in ("anthropic, thinking", "bedrock, thinking"):
        _, body = await _ask(name, FORMATS[name].answer([]), history)
        assert "enabled" in str(body)


async def test_calls_that_came_without_thoughts_are_sent_with_empty_ones_where_they_are_demanded() -> None:
    asked = Message(sender="user", text="hi")
    said, _ = await _ask("anthropic", Answer(ANSWERS["anthropic, thinking"]), [asked])
    _, body = await _ask(
        "mimo", FORMATS["mimo"].answer([]), [asked, said.model_copy(update={"reasoning_content": None})]
    )
    assert body["messages"][2]["reasoning_content"] == ""
