"""A turn that takes its time is looked after, at no cost while nothing can be due."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from agents.base import clock
from agents.base.abort import AbortToken
from agents.core.events import ToolUse
from audio import watch as watching
from audio.io.player import Player
from audio.reply import Reply
from audio.tts.scripted import ScriptedVoice
from audio.watch import watch


class Scene:
    """A reply of which nothing comes, and what its watch does about it."""

    def __init__(self) -> None:
        self.player = Player()
        self.token = AbortToken()
        self.said: list[tuple[float, str]] = []
        self.gave_up: list[float] = []
        self.reply = Reply(
            self.player,
            ScriptedVoice(),
            "en",
            now=clock.now,
            on_say=lambda text: self.said.append((clock.now(), text)),
        )

    async def watched(self) -> None:
        await watch(
            self.reply,
            self.token,
            self.player,
            awaited=True,
            cue_s=2.5,
            give_up_s=15.0,
            on_too_slow=lambda: self.gave_up.append(clock.now()),
        )
        await self.reply.close()


def test_a_turn_that_is_waited_for_is_looked_at_only_when_something_may_be_due(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    timeout_at = asyncio.timeout_at

    def counted(when: float | None) -> AbstractAsyncContextManager[object]:
        looks.append(clock.now())
        return timeout_at(when)

    async def run() -> float:
        monkeypatch.setattr(watching.asyncio, "timeout_at", counted)
        scene, began = Scene(), clock.now()
        await scene.watched()
        assert scene.token.aborted
        return scene.gave_up[0] - began

    assert clock.run_virtual(run()) == pytest.approx(15.0)
    assert len(looks) < 10


def test_a_tool_that_begins_meanwhile_is_noticed_at_once() -> None:
    async def run() -> tuple[float, float]:
        scene, began = Scene(), clock.now()
        task = asyncio.create_task(scene.watched())
        await asyncio.sleep(14.0)
        await scene.reply.record(ToolUse("1", "slow", {}))
        await task
        return scene.said[0][0] - began, scene.gave_up[0] - began

    patience, end = clock.run_virtual(run())
    assert patience == pytest.approx(15.0), "the user has heard nothing for fifteen seconds"
    assert end == pytest.approx(14.0 + 60.0), "the tool was a sign of life, and may take longer than a model"
