"""Arguments, their schemas, and names of tool calls on their way from and to providers."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from agents.core.messages import too_deep
from agents.core.model import ToolSpec

_HASH_LENGTH = 8


def parse_arguments(raw: str, initial: Any = None) -> Any:
    """What a provider streamed as a call's arguments: ``initial`` or {} for nothing.

    Text that is no JSON, or JSON that is nested too deep to be kept, stays text: the executor's validation tells the
    model what is wrong with it.
    """
    if not raw.strip():
        return initial or {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return raw if too_deep(value) else value


def as_object(value: Any) -> dict[str, Any]:
    """Arguments as the object that a format wants, whatever an earlier model made of them."""
    if isinstance(value, dict):
        return dict(value)
    return {} if value is None or value == "" else {"input": value}


def object_schema(spec: ToolSpec) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, which every format wants to be that of an object."""
    return {"type": "object", "properties": {}, **spec.parameters}


def in_alphabet(text: str, refused: str, longest: int) -> str:
    """``text`` without what the character class ``refused`` matches, at most ``longest`` characters long.

    A text that had to be changed ends in a hash of what it was, so that two of them stay two.
    """
    clean = re.sub(refused, "_", text)
    if clean == text and 0 < len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{clean[: longest - _HASH_LENGTH - 1]}_{digest}"
