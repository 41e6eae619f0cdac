"""What hooks, skills and subagents may be called."""

from __future__ import annotations

from agents.base.errors import GloveError
from agents.core.extensions.directives import can_be_written


def check_name(name: str) -> None:
    """Raise ``GloveError`` (``ERR_EXTENSION_NAME``) for a name that ``/name`` cannot express."""
    if not can_be_written(name):
        raise GloveError(
            "ERR_EXTENSION_NAME",
            f"{name!r} cannot be the name of a hook, skill or subagent.",
            "Begin with a letter from A to Z and go on with such letters, digits, hyphens and underscores.",
        )
