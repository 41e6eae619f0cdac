"""A reply whose connection breaks off, anywhere, is a fault with a name or a whole reply; never half a tool call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelResponseComplete, ToolUse
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.models.fallback import TROUBLE
from agents.models.scripted import Call, Say, Step
from tests.agents.models.benches import FORMATS
from tests.agents.models.fake_server import Answer

pytestmark = pytest.mark.realtime

REPLY: Sequence[Step] = (Say("Well."), Call("look", {"where": "up"}))
STEP = 7
"""Every how many bytes the tests cut; ``scripts/soak`` cuts everywhere."""

NAMES = ("anthropic", "openai", "bedrock")


async def sweep(name: str, step: int, *, polite: bool, start: int = 0) -> tuple[int, int]:
    """Cut the stream of a reply at every ``step``-th byte; returns how many replies were whole, and how many broken.

    ``polite`` cuts end the response properly, as a proxy does.
    """
    form = FORMATS[name]
    server = form.server([])
    frames = form.answer(REPLY).frames
    length = len(server.stream_of(frames))
    cuts = [*range(start, length, step), length]
    server.answers = [Answer(frames, cut_at=cut, polite=polite) for cut in cuts]
    whole = 0
    async with server.running():
        model: Any = form.model(server)
        await model.warm()
        for cut in cuts:
            whole += await _whole(model, cut)
        await model.close()
    return whole, len(cuts) - whole


async def _whole(model: Any, cut: int) -> bool:
    """Ask once; whether the reply came whole. Fails for anything between whole and broken."""
    events: list[AgentEvent] = []

    async def record(event: AgentEvent) -> None:
        events.append(event)

    try:
        async with asyncio.timeout(30):
            result = await model.prompt(PromptRequest("", [Message(sender="user", text="hi")]), record, AbortToken())
    except GloveError as fault:
        assert fault.code in TROUBLE, (cut, fault)
        assert not any(isinstance(event, ModelResponseComplete) for event in events), cut
        result = None
    used = [(event.name, event.input) for event in events if isinstance(event, ToolUse)]
    assert used in ([], [("look", {"where": "up"})]), cut
    if result is None:
        return False
    message = result.messages[0]
    assert message.text == "Well.", cut
    assert [(call.tool_name, call.input_args) for call in message.tool_calls or []] == [("look", {"where": "up"})], cut
    return True


@pytest.mark.parametrize("polite", [False, True], ids=["broken off", "ended early"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_stream_may_be_cut_at_any_byte(name: str, polite: bool) -> None:
    # The two ways are cut at different bytes.
    whole, broken = await sweep(name, STEP, polite=polite, start=3 if polite else 0)
    assert broken > 50
    assert whole >= (1 if polite else 0)


@pytest.mark.parametrize("name", NAMES)
async def test_pieces_may_be_as_small_as_they_like(name: str) -> None:
    form = FORMATS[name]
    answers = [Answer(form.answer(REPLY).frames, piece=size) for size in (1, 2, 3, 16)]
    server = form.server(answers)
    async with server.running():
        model: Any = form.model(server)
        for size in (1, 2, 3, 16):
            assert await _whole(model, size)
        await model.close()
