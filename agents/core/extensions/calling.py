"""Calls into the code of others, which may be synchronous or asynchronous and may take its time."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TypeVar

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.extensions.directives import can_be_written

T = TypeVar("T")


async def settled(value: T | Awaitable[T], abort: AbortToken) -> T:
    """``value``, awaited if it can be; ``Aborted`` as soon as ``abort`` fires, and also right after.

    Raises what awaiting it raises; code that gives up by itself raises ``GloveError`` (``ERR_EXTENSION_STOPPED``), for
    nobody has stopped the turn.
    """
    try:
        result: T = await abort.race(value) if inspect.isawaitable(value) else value
    except Aborted as fault:
        abort.check()
        raise GloveError(
            "ERR_EXTENSION_STOPPED", "What the message called stopped by itself.", "Try again.", fault
        ) from fault
    abort.check()
    return result


def check_name(name: str) -> None:
    """Raise ``GloveError`` (``ERR_EXTENSION_NAME``) for a name that ``/name`` cannot express."""
    if not can_be_written(name):
        raise GloveError(
            "ERR_EXTENSION_NAME",
            f"{name!r} cannot be the name of a hook, skill or subagent.",
            "Begin with a letter from A to Z and go on with such letters, digits, hyphens and underscores.",
        )
