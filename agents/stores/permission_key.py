"""The key under which an answer to a question of permission is remembered."""

from __future__ import annotations

import json
from typing import Any


def input_key(tool_input: Any) -> str:
    """Canonical JSON of a tool's input, so that equal inputs ask once whatever the order of their keys.

    Input that is not JSON counts as no input.
    """
    try:
        return json.dumps(tool_input, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError):
        return "null"
