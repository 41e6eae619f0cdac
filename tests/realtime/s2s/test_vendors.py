"""The providers themselves: runs with a key in the environment, is reported as skipped without."""

from __future__ import annotations

import asyncio
import os

import pytest

from realtime.s2s import events
from realtime.s2s.contract import HistoryItem, SessionConfig
from realtime.s2s.create import create_s2s_adapter

pytestmark = [pytest.mark.vendor, pytest.mark.realtime]

PATIENCE_S = 60.0


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_a_provider_answers_aloud_and_knows_the_history(provider: str) -> None:
    variable = f"{provider.upper()}_API_KEY"
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set")
    adapter = create_s2s_adapter(provider)
    samples: list[int] = []
    text: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    adapter.events.on(events.AgentAudio, lambda event: samples.append(event.pcm.size))
    adapter.events.on(events.AgentTranscriptDone, lambda event: text.done() or text.set_result(event.text))
    history = (HistoryItem("user", "My boat is called Marigold."), HistoryItem("assistant", "A fine name."))
    async with asyncio.timeout(PATIENCE_S):
        await adapter.connect(SessionConfig("Answer in one short sentence.", history=history))
        adapter.inject_text("What is my boat called?", respond=True)
        said = await text
        await adapter.disconnect()
    assert "marigold" in said.lower() and sum(samples) > adapter.output_format.rate_hz // 4
