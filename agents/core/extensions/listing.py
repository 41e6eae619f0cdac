"""The list of content skills in a tool's description, no longer than it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agents.core.markup import attribute, escaped

DEFAULT_BUDGET_TOKENS = 2000
CHARS_PER_TOKEN = 4
LEAST_BUDGET_TOKENS = 256

_OPENING, _CLOSING = "<available_skills>", "</available_skills>"


class Listed(Protocol):
    """What a list says of a skill; a ``ContentSkill`` is one."""

    @property
    def name(self) -> str:
        """What it is asked for by."""
        ...

    @property
    def description(self) -> str:
        """When to read it."""
        ...

    @property
    def priority(self) -> int:
        """Higher ones come first."""
        ...

    @property
    def hidden(self) -> bool:
        """Left out."""
        ...


def budget_tokens(context_limit_tokens: int) -> int:
    """A budget that fits a conversation which is summarised at ``context_limit_tokens``: two per cent of it."""
    return max(LEAST_BUDGET_TOKENS, context_limit_tokens // 50)


def listing(skills: Sequence[Listed], budget_tokens: int = DEFAULT_BUDGET_TOKENS) -> str:
    """The visible ``skills`` as an XML list, highest priority first, then by name; empty without any.

    An entry that does not fit into the budget loses its description; if that is not enough it is only counted. The
    frame and the count may exceed a budget that has no room even for them.
    """
    visible = sorted((skill for skill in skills if not skill.hidden), key=lambda skill: (-skill.priority, skill.name))
    if not visible:
        return ""
    lines = [_OPENING]
    left = budget_tokens * CHARS_PER_TOKEN - len(f"{_OPENING}\n{_CLOSING}") - len(f"\n{_omitted(len(visible))}")
    omitted = 0
    for skill in visible:
        bare = f'<skill name="{attribute(skill.name)}"/>'
        full = f'<skill name="{attribute(skill.name)}">{escaped(skill.description)}</skill>'
        line = next((line for line in (full, bare) if len(line) < left), None)
        if line is None:
            omitted += 1
        else:
            lines.append(line)
            left -= len(line) + 1
    if omitted:
        lines.append(_omitted(omitted))
    return "\n".join([*lines, _CLOSING])


def _omitted(count: int) -> str:
    return f"<!-- {count} more not listed -->"
