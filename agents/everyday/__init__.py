"""Everyday tools: time, sums, units, timers, lists, notes, small talk; each understands sentences by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.core.tool import Tool
    from agents.everyday.book import EverydayBook
    from agents.everyday.conversation import LastReply
    from agents.everyday.timers import TimerBook


def everyday_tools(
    book: EverydayBook,
    timers: TimerBook,
    *,
    zone: tzinfo | None = None,
    now: Callable[[], datetime] | None = None,
    last_reply: LastReply | None = None,
) -> list[Tool[Any]]:
    """All everyday tools.

    Args:
        book: keeps lists and notes.
        timers: runs timers and alarms; start it before use.
        zone: the user's time zone; the system's when None.
        now: the clock, aware; the wall clock when None.
        last_reply: finds what was said last, for "repeat that"; the conversation's own store when None.
    """
    from agents.base.clock import wall
    from agents.everyday.clock_tools import clock_tools
    from agents.everyday.conversation import conversation_tools
    from agents.everyday.lists import list_tools
    from agents.everyday.notes import note_tools
    from agents.everyday.replies import last_heard_reply
    from agents.everyday.sums import sum_tools
    from agents.everyday.timer_tools import timer_tools
    from agents.everyday.units import unit_tools

    clock = now or wall
    tools = [
        *clock_tools(zone, clock),
        *sum_tools(),
        *unit_tools(),
        *timer_tools(timers, zone, clock),
        *list_tools(book),
        *note_tools(book),
    ]
    return [*tools, *conversation_tools(timers, last_reply or last_heard_reply, [tool.name for tool in tools])]
