"""An interruption at every moment of an answer, ten milliseconds apart: silence at once, and a record that is true."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from realtime.s2s.events import Interrupted, ResponseStarted, UserSpeechStopped
from realtime.testing import Expect, Pause, Say, UntilGone, openai
from tests.realtime.agent.stage import Stage, tone

WORDS = "one two three four five six"
SECONDS = 0.6
CUT, CANCEL = "conversation.item.truncate", "response.cancel"


@pytest.mark.parametrize("tenth", range(7))
async def test_a_cut_at_any_moment_is_silent_at_once_and_keeps_what_was_heard(tenth: int) -> None:
    for step in range(10):
        await _cut((tenth * 10 + step) * 0.01)


async def _cut(after_s: float) -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Count.")),
        Say(openai.answer(WORDS, tone(SECONDS))),
        Pause(3),
        UntilGone(),
    ]
    async with Stage(script, ignoring=(CANCEL, CUT)) as stage:
        await stage.seen(ResponseStarted)
        await asyncio.sleep(after_s)
        before = len(stage.of(Interrupted))
        stage.agent.interrupt()
        cut_at = len(stage.played)
        await asyncio.sleep(0.8)
        assert len(stage.of(Interrupted)) == before + 1
        assert not np.concatenate(stage.played[cut_at:]).any(), f"silence {after_s:.2f} s into the answer"
        heard_ms = 10 * sum(bool(block.any()) for block in stage.played)
        truncated = [each["audio_end_ms"] for each in stage.peer.sessions[0].received if each["type"] == CUT]
        assert all(abs(end_ms - heard_ms) <= 20 for end_ms in truncated)
        history = await stage.history()
        assert history[0] == ("user", "Count.")
        said = "".join(text for sender, text in history if sender == "agent")
        assert WORDS.startswith(said)
        if heard_ms >= SECONDS * 1000:
            assert said == WORDS
        else:
            assert truncated or heard_ms == 0
            assert len(said.split()) <= 6 * heard_ms / (SECONDS * 1000) + 1


async def test_an_answer_that_is_stopped_before_it_began_is_not_begun() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Count.")),
        Pause(1),
        Say(openai.answer(WORDS, tone(SECONDS))[:2]),
        Expect(CANCEL),
        Say(openai.answer(WORDS, tone(SECONDS))[2:]),
        Pause(1),
        Say(openai.user_turn("Go on.", "u2"), openai.answer("Seven.", tone(0.3), "r2", "a2")),
        UntilGone(),
    ]
    async with Stage(script) as stage:
        await stage.seen(UserSpeechStopped)
        await asyncio.sleep(0.3)
        stage.agent.interrupt()
        await asyncio.sleep(1.6)
        assert not np.concatenate(stage.played).any()
        await asyncio.sleep(2)
        assert await stage.history() == [("user", "Count."), ("user", "Go on."), ("agent", "Seven.")]
