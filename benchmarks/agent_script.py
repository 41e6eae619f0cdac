"""The conversation that all agent frameworks hold in ``agent_loop``; nothing but the standard library, for both sides.

Text turns are answered by one model call, tool turns by two with one call of a tool in between. The model answers at
once, so that what is measured is what the framework adds.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

SYSTEM_PROMPT = "You are the voice of a kitchen. Be brief."
TOOL = "set_timer"
TOOL_ARGUMENTS = {"minutes": 7, "label": "eggs"}
TOOL_RESULT = {"id": "timer_1", "ends": "12:07", "label": "eggs"}
BEFORE_THE_TOOL = "Let me set that for you."
ANSWER = "The timer is set for seven minutes, and I will tell you when the eggs are done."
TURNS = 20
CONVERSATIONS = 10
"""Each begins anew; the first only warms up."""


def question(turn: int) -> str:
    """What the user says in turn number ``turn``; every other one needs the tool."""
    return f"Set a timer for the eggs, please, number {turn}." if needs_tool(turn) else f"And what now, number {turn}?"


def needs_tool(turn: int) -> bool:
    """Whether turn number ``turn`` is a tool turn."""
    return turn % 2 == 1


def calls(turn: int) -> int:
    """Model calls of turn number ``turn``."""
    return 2 if needs_tool(turn) else 1


async def time_conversation(say: Callable[[str], Awaitable[object]]) -> list[tuple[float, float]]:
    """Hold one conversation; returns milliseconds per model call, an entry per turn: by the clock, of the processor."""
    times_ms: list[tuple[float, float]] = []
    for turn in range(TURNS):
        began, worked = time.perf_counter(), time.process_time()
        await say(question(turn))
        scale = 1000 / calls(turn)
        times_ms.append(((time.perf_counter() - began) * scale, (time.process_time() - worked) * scale))
    return times_ms
