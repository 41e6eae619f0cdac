"""How stores write down what they keep: as the JSON that other programs read."""

from __future__ import annotations

import json
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from agents.base.errors import GloveError
from agents.core.messages import DEEPEST, too_deep

M = TypeVar("M", bound=BaseModel)

_DEEPEST = DEEPEST + 20
"""How deep a message may be nested, with a value in it that is as deep as may be."""


def as_json(shape: BaseModel) -> str:
    """``shape`` as JSON, without what is not set."""
    try:
        written = shape.model_dump_json(exclude_none=True)
    except PydanticSerializationError:
        return _mended(shape)
    # What no parser would read again must not get into a file; few messages have so many brackets at all.
    return (
        _mended(shape)
        if written.count("[") + written.count("{") > _DEEPEST and too_deep(shape.model_dump(), _DEEPEST)
        else written
    )


def _mended(shape: BaseModel) -> str:
    """``shape`` with text in place of what is nested too deep, and of half surrogate pairs, as some models send them.

    They are no reason to lose the message around them. Raises ``GloveError`` (``ERR_STORE_VALUE``).
    """
    try:
        text = json.dumps(_flattened(shape.model_dump(exclude_none=True), _DEEPEST), ensure_ascii=False, default=str)
    except (ValueError, RecursionError, PydanticSerializationError) as fault:
        raise GloveError(
            "ERR_STORE_VALUE",
            f"A {type(shape).__name__} holds what cannot be written as JSON: it contains itself or is nested too deep.",
            "Try again; if it stays so, another model may do better.",
            fault,
        ) from fault
    return text.encode("utf-8", "replace").decode("utf-8")


def _flattened(value: Any, room: int) -> Any:
    """``value`` with the JSON of what is nested more than ``room`` deep as text."""
    if not isinstance(value, dict | list):
        return value
    if not room:
        return json.dumps(value, default=str)
    if isinstance(value, dict):
        return {key: _flattened(item, room - 1) for key, item in cast("dict[str, Any]", value).items()}
    return [_flattened(item, room - 1) for item in cast("list[Any]", value)]


def changed(shape: M, changes: dict[str, Any]) -> M:
    """A copy of ``shape`` with other values in some fields, checked."""
    return type(shape).model_validate({**shape.model_dump(), **changes})
