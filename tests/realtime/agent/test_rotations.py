"""Hundreds of replaced sessions in a row: nothing of the conversation is lost, and nothing is said twice."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
from pydantic import BaseModel

from agents.base import clock
from agents.core.tool import Tool
from realtime.link_state import LinkMoved, LinkState, SessionReplaced
from tests.realtime.agent.hearing_peer import HearingSession, World
from tests.realtime.agent.stage import Stage, glove

ROTATIONS = 200
LIFE_S = 12.0


class Number(BaseModel):
    number: int


async def test_two_hundred_replacements_with_tools_in_flight_lose_no_turn_and_double_no_word() -> None:
    dice = random.Random(7)

    async def work(args: Number, _ctx: Any) -> str:
        await asyncio.sleep(dice.choice([0.1, 1.0, 3.0]))
        return f"tool-{args.number}"

    tool = Tool(name="work", description="Works.", run=work, args=Number)
    begin, at, world = clock.now() + 1, 1.0, World([], LIFE_S)
    while at < ROTATIONS * LIFE_S * 0.85:
        world.questions.append(begin + at)
        at += dice.uniform(1.0, 9.0) + 5.5
    scripts = [[HearingSession(world)] for _ in range(ROTATIONS * 2)]
    async with Stage(*scripts, agent=glove(tool), pull_s=0.1) as stage:
        stage.hears(world.frame)
        while stage.agent.link.rotations < ROTATIONS:
            await asyncio.sleep(1)
        await stage.quiet()
        stage.leftover()
        said = await stage.history()
    asked = [int(text.split()[1]) for _, text in said if text.startswith("question")]
    answered = [int(text.split()[1]) for _, text in said if text.startswith("answer")]
    due = [number for number, began in enumerate(world.questions) if began < clock.now() - 30]
    assert asked[: len(due)] == due and answered[: len(due)] == due
    assert len(asked) == len(set(asked)) and len(answered) == len(set(answered)) and len(due) > 150
    assert sorted(world.answered) == sorted(set(world.answered))
    replaced = stage.of(SessionReplaced)
    assert {event.why for event in replaced} == {"rotated"}
    assert np.percentile([event.gap_s for event in replaced], 95) <= 0.3
    assert not [event for event in stage.of(LinkMoved) if event.state in (LinkState.RECOVERING, LinkState.LOST)]
