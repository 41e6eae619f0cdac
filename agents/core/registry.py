"""The tools of an agent: found by name whatever the case, changed as a whole, never under a reader's hands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agents.base.errors import GloveError
from agents.core.model import ToolSpec
from agents.core.tool import Tool

AnyTool = Tool[Any]


class ToolRegistry:
    """Tools in order of registration.

    The tuple is replaced, never mutated: a model call in flight keeps the list it started with, the next one sees the
    change.
    """

    def __init__(self, tools: Iterable[AnyTool] = ()) -> None:
        self._tools: tuple[AnyTool, ...] = ()
        self._specs: tuple[ToolSpec, ...] | None = None
        for tool in tools:
            self.add(tool)

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        """All tools, in order of registration."""
        return self._tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model sees of them; made once per change, because schemas take a while to make."""
        if self._specs is None:
            self._specs = tuple(tool.spec() for tool in self._tools)
        return self._specs

    def add(self, tool: AnyTool) -> None:
        """Register ``tool`` at the end. Raises ``GloveError`` (``ERR_TOOL_DUPLICATE``) if the name is taken."""
        _check_unique((*self._tools, tool))
        self._set((*self._tools, tool))

    def lead(self, tools: Iterable[AnyTool]) -> None:
        """Register ``tools`` before all others, except those whose names are taken."""
        new = tuple(tool for tool in tools if self.find(tool.name) is None)
        if new:
            _check_unique(new)
            self._set((*new, *self._tools))

    def replace(self, previous_names: Iterable[str], next_tools: Sequence[AnyTool]) -> None:
        """Swap the tools named in ``previous_names`` for ``next_tools``, all or nothing.

        The new tools take the place of the first one removed, or go to the end. Raises ``GloveError``
        (``ERR_TOOL_DUPLICATE``) when names collide, and changes nothing then.
        """
        gone = {name.casefold() for name in previous_names}
        kept = [tool for tool in self._tools if tool.name.casefold() not in gone]
        place = next((i for i, tool in enumerate(self._tools) if tool.name.casefold() in gone), len(self._tools))
        merged = (*kept[:place], *next_tools, *kept[place:])
        _check_unique(merged)
        self._set(merged)

    def _set(self, tools: tuple[AnyTool, ...]) -> None:
        self._tools, self._specs = tools, None

    def find(self, name: str) -> AnyTool | None:
        """The tool of that name, case-insensitively, or None."""
        wanted = name.casefold()
        return next((tool for tool in self._tools if tool.name.casefold() == wanted), None)

    def unknown(self, name: str) -> str:
        """What to tell the model about a name that is not registered: near matches, then all names."""
        names = [tool.name for tool in self._tools]
        if not names:
            return f"There is no tool named {name!r}; no tools are registered."
        wanted = name.casefold()
        near = [known for known in names if wanted and (wanted in known.casefold() or known.casefold() in wanted)]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        return f"There is no tool named {name!r}.{hint} Registered tools: {', '.join(names)}."


def _check_unique(tools: Iterable[AnyTool]) -> None:
    seen: set[str] = set()
    for tool in tools:
        key = tool.name.casefold()
        if key in seen:
            raise GloveError(
                "ERR_TOOL_DUPLICATE",
                f"Two tools are named {tool.name!r}.",
                "Rename one of them, or swap it with replace_tools.",
            )
        seen.add(key)
