"""Calls of what a host has registered: synchronous or not, and with no power to end a turn as if the user had."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError

T = TypeVar("T")


async def call(function: Callable[[AbortToken], Awaitable[T] | T], abort: AbortToken, what: str) -> T:
    """What ``function(abort)`` gives, awaited if it can be; ``what`` names it in a message.

    Raises ``Aborted`` when the token is aborted, before, during and after the call, and whatever ``function`` raises.
    Its own ``Aborted`` becomes ``GloveError`` (``ERR_STOPPED_ITSELF``) while nobody has aborted.
    """
    abort.check()
    try:
        value = function(abort)
        result: T = await abort.race(value) if inspect.isawaitable(value) else value
    except Aborted as fault:
        abort.check()
        raise GloveError("ERR_STOPPED_ITSELF", f"{what} stopped by itself.", "Try again.", fault) from fault
    abort.check()
    return result
