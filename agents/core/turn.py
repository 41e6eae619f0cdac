"""What is known about the turn that is running, for the code that runs inside it.

A turn travels in a context variable, so that whatever a tool calls can find it: the queue recognises an agent that
would wait for itself, and a question on the display is withdrawn with the tool that asked it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from agents.base.abort import Aborted, AbortToken

log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(eq=False)
class Turn:
    """One request on its way through an agent.

    Attributes:
        owner: the agent that runs it, compared by identity.
        abort: stops the turn.
        language: language of the user's words (BCP-47 primary tag) where it is known.
        heard_reports: whether somebody will report what was heard of each reply.
        acting: whether tools are running whose results are not stored yet.
        compaction_wanted: whether the history shall be summarised once they are.
        finished: set when the turn has left the queue.
    """

    owner: object
    abort: AbortToken
    language: str | None = None
    heard_reports: bool = False
    acting: bool = False
    compaction_wanted: bool = False
    finished: bool = False


_turns: ContextVar[tuple[Turn, ...]] = ContextVar("glove_turns", default=())
_tool_abort: ContextVar[AbortToken | None] = ContextVar("glove_tool_abort", default=None)


@contextlib.contextmanager
def running(turn: Turn) -> Generator[None]:
    """Mark ``turn`` as running in this context and in all tasks started from it."""
    reset = _turns.set((*_turns.get(), turn))
    try:
        yield
    finally:
        turn.finished = True
        _turns.reset(reset)


def current_turn(owner: object) -> Turn | None:
    """The unfinished turn of ``owner`` that the caller runs in, directly or through agents that it called."""
    return next((turn for turn in _turns.get() if turn.owner is owner and not turn.finished), None)


def depth() -> int:
    """How many agents wait for the caller, each called by the one before; 0 outside of any turn."""
    return sum(1 for turn in _turns.get() if not turn.finished)


@contextlib.contextmanager
def tool_scope(abort: AbortToken | None) -> Generator[None]:
    """Let questions asked in this context end with ``abort``; None for tools that run to their end."""
    reset = _tool_abort.set(abort)
    try:
        yield
    finally:
        _tool_abort.reset(reset)


def tool_abort() -> AbortToken | None:
    """The token that withdraws questions of the running tool, or None."""
    return _tool_abort.get()


async def carefully(work: asyncio.Task[T], abort: AbortToken) -> T:
    """Await ``work``; a cancelled caller aborts it and waits for its tidying up, but only the first time."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        if work.done():
            raise
        abort.abort("cancelled")
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            work.add_done_callback(_tell_fault)
            work.cancel()
            raise
        _tell_fault(work)
        raise


def _tell_fault(work: asyncio.Task[Any]) -> None:
    if not work.cancelled() and (fault := work.exception()) is not None and not isinstance(fault, Aborted):
        log.error("a cancelled turn failed", error=repr(fault))
