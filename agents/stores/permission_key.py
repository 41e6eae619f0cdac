"""The key under which an answer to a question of permission is remembered."""

from __future__ import annotations

import json
from typing import Any


def input_key(tool_input: Any) -> str:
    """Canonical JSON of a tool's input, so that equal inputs ask once whatever the order of their keys.

    Input that is not JSON counts as no input.
    """
    try:
        key = json.dumps(tool_input, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "null"
    # Half a surrogate pair, which a file of text cannot hold, as JSON spells it.
    return key.encode("utf-8", "backslashreplace").decode()
