"""Calls into the code of others, which may be synchronous or asynchronous and may take its time."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TypeVar

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.extensions.directives import can_be_written

T = TypeVar("T")


async def settled(value: T | Awaitable[T], abort: AbortToken) -> T:
    """``value``, awaited if it can be; ``Aborted`` as soon as ``abort`` fires, and also right after."""
    result: T = await abort.race(value) if inspect.isawaitable(value) else value
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
