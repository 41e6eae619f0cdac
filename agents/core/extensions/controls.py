"""The inside of an agent, for the code that extends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.core.display import DisplayManager
from agents.core.store import StoreAdapter

if TYPE_CHECKING:
    from agents.core.context import Context
    from agents.core.executor import Executor
    from agents.core.glove import Glove
    from agents.core.observer import Observer
    from agents.core.prompt import PromptMachine


@dataclass(frozen=True)
class AgentControls:
    """What hooks, skills and makers of subagents can reach.

    Attributes:
        glove: the agent itself. A turn of its own cannot be started from inside one.
        context: the conversation as the model sees it.
        observer: counters and summaries.
        prompt_machine: the model and the system prompt in force.
        executor: runs tools.
    """

    glove: Glove
    context: Context
    observer: Observer
    prompt_machine: PromptMachine
    executor: Executor

    @property
    def store(self) -> StoreAdapter:
        """The conversation's record."""
        return self.context.store

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack, as it is now."""
        return self.glove.display

    async def force_compaction(self) -> bool:
        """Summarise the history, also from inside a turn; see ``Glove.force_compaction``."""
        return await self.glove.force_compaction()
