"""llama.cpp's own server as a model: found, asked through the official SDK, interrupted, and lost."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from agents.core.events import AgentEvent, TextDelta
from agents.core.glove import Glove
from agents.core.messages import Message, ToolCall, ToolResult, ToolResultData
from agents.core.model import ModelAdapter, PromptRequest, ToolSpec
from agents.models.alone import AloneModel
from agents.models.discovery import SIGNATURES, find_local_servers
from agents.models.fallback import FallbackModel, Health
from agents.models.providers import create_adapter
from tests.agents.core.scene import Ear

pytestmark = pytest.mark.realtime

Peer = tuple[subprocess.Popen[str], str]


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    """One server for the whole module; the last test kills it."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    try:
        weights = WeightsStore(sources=("cache",)).ensure("smollm2-135m")
    except GloveError as missing:
        pytest.skip(missing.message)
    program = [sys.executable, str(Path(__file__).with_name("llama_server.py")), str(weights)]
    running = subprocess.Popen(
        program, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert running.stdout is not None
    address = next((line.strip() for line in running.stdout if line.startswith("http")), None)
    assert address is not None, "the server did not start"
    yield running, address
    running.kill()
    running.wait()


def model_at(url: str, max_tokens: int = 8) -> ModelAdapter:
    return create_adapter("openai-compat", "smollm2", None, f"{url}/v1", max_tokens=max_tokens, max_retries=0)


async def closed(model: ModelAdapter) -> None:
    await model.close()  # type: ignore[attr-defined]


async def test_it_is_found_and_answers_an_agent_word_by_word(peer: Peer) -> None:
    port = urlsplit(peer[1]).port or 0
    offers = await find_local_servers([replace(one, port=port) for one in SIGNATURES], 5.0)
    assert [(offer.server, offer.models) for offer in offers] == [("llama-server", ("smollm2",))]
    offer = offers[0]
    model = create_adapter(offer.provider, offer.models[0], base_url=offer.base_url, max_tokens=12)
    ear = Ear()
    glove = Glove(model=model, system_prompt="You are brief.").add_subscriber(ear).build()
    reply = await glove.process_request("What is the capital of France?")
    assert len(ear.of(TextDelta)) > 1
    assert "".join(event.text for event in ear.of(TextDelta)) == reply.text
    used = await glove.store.get_token_consumption()
    assert used.tokens_in > 10 and used.tokens_out > 1
    await closed(model)


async def test_an_interrupted_reply_leaves_the_server_free_for_the_next(peer: Peer) -> None:
    model, abort = model_at(peer[1], max_tokens=200), AbortToken()

    async def stop_at_first_word(event: AgentEvent) -> None:
        if isinstance(event, TextDelta):
            asyncio.get_running_loop().call_soon(abort.abort)

    story = PromptRequest("", [Message(sender="user", text="Tell me a very long story.")])
    with pytest.raises(Aborted):
        await model.prompt(story, stop_at_first_word, abort)
    async with asyncio.timeout(60):
        brief = model_at(peer[1])
        again = await brief.prompt(story, Ear().record, AbortToken())
    assert again.stop_reason == "max_tokens"
    await closed(model)
    await closed(brief)


async def test_tools_and_a_history_of_calls_are_accepted(peer: Peer) -> None:
    # The model is too small to call tools; its server still reads, and may refuse, what it is sent.
    look = ToolSpec("look", "Looks somewhere.", {"properties": {"where": {"enum": ["up", "down"]}}})
    called = Message(
        sender="agent",
        text="I look.",
        tool_calls=[
            ToolCall(tool_name="look", input_args={"where": "up"}, id="call:1"),
            ToolCall(tool_name="look", input_args="not json", id="c2"),
        ],
    )
    seen = ToolResult(tool_name="look", call_id="call:1", result=ToolResultData(data="The sky."))
    history = [
        Message(sender="user", text="Look up!"),
        called,
        Message(sender="user", tool_results=[seen]),
        Message(sender="user", text="What do you see?"),
    ]
    model, ear = model_at(peer[1]), Ear()
    reply = await model.prompt(PromptRequest("You are brief.", history, (look,)), ear.record, AbortToken())
    assert reply.messages[0].text or reply.messages[0].tool_calls
    assert reply.usage.tokens_in > 20
    await closed(model)


async def test_a_lost_server_is_answered_for(peer: Peer) -> None:
    running, url = peer
    request = PromptRequest("", [Message(sender="user", text="Say hello.")])
    model = FallbackModel(model_at(url), AloneModel(), first_token_s=60)
    assert (await model.prompt(request, Ear().record, AbortToken())).messages[0].text
    running.kill()
    running.wait()
    alone = await model.prompt(request, Ear().record, AbortToken())
    assert alone.messages[0].text.startswith("I cannot reach my language model, so I answer by myself.")
    assert model.health is Health.TROUBLED
    await model.close()
