"""Tools: a pydantic model for the arguments, an async function, and the conditions under which it may run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent
from agents.core.messages import ToolResultData
from agents.core.model import Sentences, ToolSpec

if TYPE_CHECKING:
    from agents.core.display import DisplayManager
    from agents.core.glove import Glove

Args = TypeVar("Args", bound=BaseModel)

MAX_RESULT_CHARS = 100_000
"""Longest ``data`` of a result, as text or JSON; the rest is cut with a note, for the model as well as in history."""


class NoArgs(BaseModel):
    """For tools without arguments."""


@dataclass(frozen=True)
class ToolContext:
    """What a running tool can reach.

    Attributes:
        display: the conversation's display stack, for questions and cards.
        glove: the agent that runs the tool.
        abort: aborted when the user interrupts.
        language: language of the turn that led here (BCP-47 primary tag); tools phrase ``speech`` in it.
    """

    display: DisplayManager
    glove: Glove
    abort: AbortToken
    language: str = "en"

    async def hand_over(self, payload: Any) -> Any:
        """Ask whoever sees to the display, and wait for the answer. Raises as ``DisplayManager.push_and_wait``.

        Args:
            payload: JSON value; its text ``renderer`` says what shows it, otherwise ``generic`` does.
        """
        named = payload.get("renderer") if isinstance(payload, Mapping) else None
        return await self.display.push_and_wait(named if isinstance(named, str) and named else "generic", payload)


class Bracket(Protocol):
    """The events around the runs of a tool: told once per call, whatever the number of attempts."""

    def opened(self, arguments: Any) -> AgentEvent:
        """The tool is about to run with these validated arguments."""
        ...

    def closed(self, arguments: Any, outcome: ToolResultData) -> AgentEvent:
        """It has run, or was stopped."""
        ...


@dataclass(frozen=True)
class Tool(Generic[Args]):
    """A tool of an agent.

    Attributes:
        name: unique, case-insensitive.
        description: what it does and when to call it, for the model.
        run: called with validated arguments; returns ``ToolResultData``, or any value, which is wrapped as success.
        args: pydantic model of the arguments, or None with ``json_schema`` for unvalidated raw input.
        json_schema: raw JSON Schema, only when ``args`` is None.
        requires_permission: True, or a function of the raw input that says whether to ask the user first.
        un_abortable: runs to its end even when the turn is aborted.
        parallel: may run at the same time as its neighbours in a reply, if they allow it too.
        time_limit_s: seconds one attempt may take; then it is cancelled, and the call ends with an error.
        max_result_chars: what ``data`` is cut to. A tool that has more keeps it itself and returns where it is, or puts
            it into ``renderData``, which only screens get.
        settle_s: seconds it may take after an abort to put what it keeps in order; the turn waits that long at most.
        bracket: events around every run, however it ends.
        generate_summary: makes the short form that replaces the result in older context.
        sentences: what a person says to call the tool directly.
    """

    name: str
    description: str
    run: Callable[[Any, ToolContext], Awaitable[ToolResultData | Any]]
    args: type[Args] | None = None
    json_schema: Mapping[str, Any] | None = None
    requires_permission: bool | Callable[[Any], bool] = False
    un_abortable: bool = False
    parallel: bool = False
    time_limit_s: float | None = None
    max_result_chars: int = MAX_RESULT_CHARS
    settle_s: float = 0.0
    bracket: Bracket | None = None
    generate_summary: Callable[[Any], Awaitable[str]] | None = None
    sentences: Sequence[Sentences] = field(default_factory=tuple[Sentences, ...])

    def __post_init__(self) -> None:
        if self.args is None and self.json_schema is None:
            raise ValueError(f"tool {self.name!r} needs an args model or a JSON schema")

    def spec(self) -> ToolSpec:
        """What a model sees of this tool."""
        schema: dict[str, Any] = self.args.model_json_schema() if self.args else dict(self.json_schema or {})
        return ToolSpec(self.name, self.description, schema, tuple(self.sentences))
