"""Puts the parts of a built agent together around its store."""

from __future__ import annotations

from dataclasses import dataclass

from agents.core.agent import Agent
from agents.core.arrivals import Arrivals
from agents.core.context import Context
from agents.core.executor import Executor
from agents.core.heard import HeardLedger
from agents.core.messages import Message
from agents.core.observer import Compaction, Observer
from agents.core.permissions import Permissions
from agents.core.prompt import PromptMachine
from agents.core.recovery import mark_unanswered, mark_unconfirmed, restore_journalled
from agents.core.registry import ToolRegistry
from agents.core.runtime_context import ContextProviders
from agents.core.store import StoreAdapter
from agents.core.subscribers import Subscribers


@dataclass
class Core:
    """The parts that exist once an agent has a store."""

    context: Context
    observer: Observer
    executor: Executor
    ledger: HeardLedger
    agent: Agent
    recovered: bool = False

    async def recover(self) -> Message | None:
        """Mark what an earlier process left unfinished; looks only once. Call it with the floor held."""
        if self.recovered:
            return None
        message = await mark_unanswered(self.context)
        await mark_unconfirmed(self.context)
        message = await restore_journalled(self.context) or message
        self.recovered = True
        return message


def assemble(
    store: StoreAdapter,
    *,
    prompt: PromptMachine,
    registry: ToolRegistry,
    subscribers: Subscribers,
    arrivals: Arrivals,
    providers: ContextProviders,
    compaction: Compaction,
    max_retries: int,
    permission_limit_s: float,
) -> Core:
    """Build the parts of an agent that remembers in ``store``."""
    context = Context(store)
    observer = Observer(context, prompt, subscribers.emit, compaction)
    executor = Executor(registry, Permissions(store, permission_limit_s), max_retries)
    ledger = HeardLedger(store)
    agent = Agent(
        context=context,
        prompt=prompt,
        registry=registry,
        executor=executor,
        observer=observer,
        ledger=ledger,
        arrivals=arrivals,
        providers=providers,
        notify=subscribers.emit,
    )
    return Core(context, observer, executor, ledger, agent)
