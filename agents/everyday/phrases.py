"""How the everyday tools speak: the language of a sentence, durations, numbers, lists, for the ear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import structlog

from agents.base.errors import GloveError
from agents.base.language import primary
from agents.core.messages import ToolResultData
from agents.core.tool import ToolContext

A = TypeVar("A")
log = structlog.get_logger(__name__)

_AND = {"en": "and", "de": "und", "es": "y", "fr": "et", "it": "e", "pt": "e"}


def pick(language: str, *, en: str, de: str) -> str:
    """The text in ``language``, English where there is none."""
    return de if primary(language) == "de" else en


def locale_of(language: str) -> str:
    """The CLDR locale that the answers in ``language`` are formatted in."""
    return pick(language, en="en_US", de="de_DE")


def success(data: Any, speech: str) -> ToolResultData:
    """A result with ``data`` for a model and ``speech`` for the user."""
    return ToolResultData(status="success", data=data, speech=speech)


def failure(data: Any, speech: str) -> ToolResultData:
    """An honest "no": the tool ran, and this is why it could not do what was asked."""
    return ToolResultData(status="error", data=data, message=speech, speech=speech)


def spoken_duration(seconds: float, language: str) -> str:
    """Whole seconds in words and digits, at most two units ("1 hour and 20 minutes"); nominative or accusative."""
    total = max(0, round(seconds))
    days, rest = divmod(total, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    if days:
        parts = [_unit(days, "day", language), _unit(hours, "hour", language)]
    elif hours:
        parts = [_unit(hours, "hour", language), _unit(minutes, "minute", language)]
    else:
        parts = [_unit(minutes, "minute", language), _unit(secs, "second", language)]
    said = [part for part in parts if part] or [pick(language, en="0 seconds", de="0 Sekunden")]
    return join(said, language)


def _unit(count: int, unit: str, language: str) -> str:
    if count == 0:
        return ""
    german = {
        "day": ("einen Tag", "Tage"),
        "hour": ("eine Stunde", "Stunden"),
        "minute": ("eine Minute", "Minuten"),
        "second": ("eine Sekunde", "Sekunden"),
    }
    one, many = german[unit]
    return pick(
        language,
        en=f"1 {unit}" if count == 1 else f"{count} {unit}s",
        de=one if count == 1 else f"{count} {many}",
    )


def join(items: Sequence[str], language: str) -> str:
    """An enumeration inside a sentence of these tools: "milk, bread and tea"."""
    return enumeration(items, pick(language, en="en", de="de"))


def enumeration(items: Sequence[str], language: str) -> str:
    """``items`` as people of ``language`` (BCP-47 primary tag; English where it is not known) enumerate them."""
    if language == "ja":
        return "、".join(items)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {_AND.get(language, _AND['en'])} {items[-1]}"


def spoken_number(value: float, language: str, *, digits: int = 4) -> str:
    """A number as the language writes it, without grouping, with at most ``digits`` decimals."""
    from babel.numbers import format_decimal

    pattern = "0" if float(value).is_integer() else f"0.{'#' * digits}"
    return format_decimal(value, format=pattern, locale=locale_of(language), group_separator=False)


def kept(
    run: Callable[[A, ToolContext], Awaitable[ToolResultData]],
) -> Callable[[A, ToolContext], Awaitable[ToolResultData]]:
    """Answer a broken book (disk full, file unwritable) with a sentence instead of an exception that is retried."""

    async def guarded(args: A, ctx: ToolContext) -> ToolResultData:
        try:
            return await run(args, ctx)
        except GloveError as fault:
            log.error("an everyday tool failed", code=fault.code, error=fault.message)
            return failure(
                {"code": fault.code, "error": str(fault)},
                pick(
                    ctx.language,
                    en="I can't store or read that right now.",
                    de="Das lässt sich gerade nicht speichern oder lesen.",
                ),
            )

    return guarded
