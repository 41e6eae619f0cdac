"""How stores write down what they keep: as the JSON that other programs read."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

M = TypeVar("M", bound=BaseModel)


def as_json(shape: BaseModel) -> str:
    """``shape`` as JSON, without what is not set."""
    try:
        return shape.model_dump_json(exclude_none=True)
    except PydanticSerializationError:
        # Half a surrogate pair, as some models send: no reason to lose the message around it.
        text = json.dumps(shape.model_dump(exclude_none=True), ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace").decode("utf-8")


def changed(shape: M, changes: dict[str, Any]) -> M:
    """A copy of ``shape`` with other values in some fields, checked."""
    return type(shape).model_validate({**shape.model_dump(), **changes})
