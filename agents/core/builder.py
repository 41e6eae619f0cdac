"""How an agent is configured: model, instructions, tools, and everything that takes part in its turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import structlog

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.arrivals import Arrivals, Wake, WakeHandler
from agents.core.assembly import Core, assemble
from agents.core.builtin import builtin_tools
from agents.core.display import DisplayManager
from agents.core.events import Subscriber
from agents.core.executor import MAX_RETRIES
from agents.core.extensions.controls import AgentControls
from agents.core.extensions.extensions import Extensions
from agents.core.extensions.hooks import HookHandler
from agents.core.extensions.skills import Skill, SkillHandler
from agents.core.extensions.subagents import SubAgentFactory, SubAgentKind
from agents.core.external import Events
from agents.core.messages import ContentPart, Delivery, Message
from agents.core.model import ModelAdapter, checked_model
from agents.core.observer import Compaction
from agents.core.permissions import ANSWER_LIMIT_S
from agents.core.preparers import TurnPreparer, TurnPreparers
from agents.core.prompt import PromptMachine
from agents.core.queue import TurnQueue
from agents.core.registry import AnyTool, ToolRegistry
from agents.core.runtime_context import ContextProvider, ContextProviders
from agents.core.store import StoreAdapter
from agents.core.subscribers import Subscribers
from agents.stores.memory import MemoryStore

log = structlog.get_logger(__name__)


class AgentBuilder(ABC):
    """The configuration of an agent, before and after it is built.

    Args:
        model: answers; may be exchanged later.
        system_prompt: stable instructions. What changes from turn to turn does not belong here.
        store: the conversation's record; in memory when None and ``build`` gets none either.
        display: where questions and cards go; a stack of its own when None.
        compaction: when history is summarised and how many model calls one request may make.
        max_retries: further attempts of a tool that raised an exception.
        summarise_tool_results: send older tool results in their short form.
        permission_limit_s: seconds a question for permission stays open before the call is denied.
        server_mode: whether nobody sits in front of this agent; packages ask when they choose defaults.
        events: how events from outside are kept, decided about and told.
        on_wake: runs the turns that events start; see ``set_wake_handler``.
        builtin_tools: offer ``glove_update_tasks`` and ``glove_post_to_inbox`` where the store can keep what they
            write; of tools with these names that are folded before ``build``, those are kept.
        providers: context providers, where several agents share them; its own when None.
        preparers: turn preparers, likewise.

    Raises:
        ConfigError: ``ERR_MODEL_ADAPTER``: ``model`` is no model adapter.
    """

    def __init__(
        self,
        *,
        model: ModelAdapter,
        system_prompt: str = "",
        store: StoreAdapter | None = None,
        display: DisplayManager | None = None,
        compaction: Compaction | None = None,
        max_retries: int = MAX_RETRIES,
        summarise_tool_results: bool = False,
        permission_limit_s: float = ANSWER_LIMIT_S,
        server_mode: bool = False,
        events: Events | None = None,
        on_wake: WakeHandler | None = None,
        builtin_tools: bool = True,
        providers: ContextProviders | None = None,
        preparers: TurnPreparers | None = None,
    ) -> None:
        self.server_mode = server_mode
        self._prompt = PromptMachine(checked_model(model), system_prompt, summarise=summarise_tool_results)
        self._store = store
        self._display = display or DisplayManager()
        self._compaction = compaction or Compaction()
        self._max_retries = max_retries
        self._builtin_tools = builtin_tools
        self._permission_limit_s = permission_limit_s
        self._registry = ToolRegistry()
        self._subscribers = Subscribers()
        self._queue = TurnQueue()
        self._preparers = preparers or TurnPreparers()
        self._providers = providers or ContextProviders()
        self._extensions = Extensions(self._registry, self._controls, self._subscribers.emit)
        self._arrivals = Arrivals(
            events or Events(),
            busy=lambda: self._queue.busy,
            notify=self._subscribers.emit,
            run=self.process_request,
        )
        self._arrivals.handle_wakes(on_wake)
        self._core: Core | None = None

    @property
    def model(self) -> ModelAdapter:
        """The model in force."""
        return self._prompt.model

    @property
    def system_prompt(self) -> str:
        """The stable instructions in force."""
        return self._prompt.system_prompt

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack."""
        return self._display

    @property
    def display_manager(self) -> DisplayManager:
        """Another name of ``display``."""
        return self._display

    @property
    def store(self) -> StoreAdapter:
        """The conversation's record. Raises ``GloveError`` before ``build`` if none was given."""
        if self._core is not None:
            return self._core.context.store
        if self._store is not None:
            return self._store
        raise _not_built()

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        """The tools in order of registration."""
        return self._registry.tools

    def fold(self, tool: AnyTool) -> Self:
        """Add a tool, at any time; the next model call offers it. Returns the agent itself.

        Raises ``GloveError`` (``ERR_TOOL_DUPLICATE``) if the name is taken.
        """
        self._registry.add(tool)
        return self

    def replace_tools(self, previous_names: Iterable[str], next_tools: Sequence[AnyTool]) -> None:
        """Swap some tools for others, all or nothing; a model call in flight keeps its list.

        Raises ``GloveError`` (``ERR_TOOL_DUPLICATE``) when names collide.
        """
        self._registry.replace(previous_names, next_tools)

    def add_subscriber(self, subscriber: Subscriber) -> Self:
        """Deliver events to ``subscriber``; added twice, it records twice. Returns the agent itself."""
        self._subscribers.add(subscriber)
        return self

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Undo one ``add_subscriber``."""
        self._subscribers.remove(subscriber)

    def define_hook(self, name: str, handler: HookHandler) -> Self:
        """Run ``handler`` when the user writes ``/name``, before the model sees the message. Returns the agent itself.

        It may rewrite the message or answer it; what it raises fails the turn, whose message is stored as it was
        written. A hook of the same name is replaced; a skill of the same name cannot be called by the user.

        Raises ``GloveError`` (``ERR_EXTENSION_NAME``) for a name that ``/name`` cannot express.
        """
        self._extensions.define_hook(name, handler)
        return self

    def define_skill(
        self, name: str, handler: SkillHandler, *, description: str | None = None, expose_to_agent: bool = False
    ) -> Self:
        """Put what ``handler`` returns before the user's message when that says ``/name``. Returns the agent itself.

        What it raises fails the turn, whose message is stored as it was written. A skill of the same name is replaced.

        Args:
            name: letters, digits, hyphens and underscores.
            handler: sync or async; returns text, or parts of text and media.
            description: when to use it, for the model.
            expose_to_agent: the model may call it by itself, with ``glove_invoke_skill``.

        Raises:
            GloveError: ``ERR_EXTENSION_NAME``; ``ERR_TOOL_DUPLICATE`` if another tool has the name of that one.
        """
        self._extensions.define_skill(Skill(name, handler, description, expose_to_agent))
        return self

    def define_sub_agent(self, name: str, factory: SubAgentFactory, *, description: str | None = None) -> Self:
        """Let the model give work to agents that ``factory`` makes, with ``glove_invoke_subagent``.

        Returns the agent itself. A subagent of the same name is replaced.

        Args:
            name: letters, digits, hyphens and underscores.
            factory: sync or async; returns a built agent for one piece of work.
            description: what it is good for, for the model.

        Raises:
            GloveError: ``ERR_EXTENSION_NAME``; ``ERR_TOOL_DUPLICATE`` if another tool has the name of that one.
        """
        self._extensions.define_sub_agent(SubAgentKind(name, factory, description))
        return self

    def set_model(self, model: ModelAdapter) -> None:
        """Use ``model`` from the next model call on. Raises ``ConfigError`` (``ERR_MODEL_ADAPTER``) if it is none."""
        self._prompt.model = checked_model(model)

    def set_system_prompt(self, system_prompt: str) -> None:
        """Use ``system_prompt`` from the next model call on."""
        self._prompt.system_prompt = system_prompt

    def get_system_prompt(self) -> str:
        """Another name of ``system_prompt``."""
        return self.system_prompt

    def set_display(self, display: DisplayManager) -> None:
        """Use ``display`` for tool calls from now on."""
        self._display = display

    def set_display_manager(self, display: DisplayManager) -> None:
        """Another name of ``set_display``."""
        self.set_display(display)

    def set_wake_handler(self, handler: WakeHandler | None) -> None:
        """Let ``handler`` run the turns that events start, so that it can speak them at a polite moment.

        It gets a ``Wake`` and awaits ``wake.run(…)`` (or ``process_request(wake, …)``). With None they run at once.
        """
        self._arrivals.handle_wakes(handler)

    def add_turn_preparer(self, preparer: TurnPreparer) -> Callable[[], None]:
        """Call ``preparer(abort)`` before every turn, whether the user or an event started it.

        Preparers run in order, while nothing else writes history; one that raises fails the turn, whose message is
        stored all the same. Returns a function that removes it.
        """
        return self._preparers.add(preparer)

    def add_context_provider(
        self, provider: ContextProvider, *, delivery: Delivery = "iteration", key: str | None = None
    ) -> Callable[[], None]:
        """Let ``provider(abort)`` say what is true right now, without touching the system prompt.

        What it raises fails the model call, rather than the model reading what is no longer true.

        Args:
            provider: sync or async; returns text, parts of text and media, or None.
            delivery: ``iteration`` is read before every model call and stands at its end. ``request`` is read once per
                request and stands before the request's message. ``history`` is read once per request, and its text is
                saved before the message if the conversation in sight does not show it yet.
            key: names what ``history`` saves; unique among such providers.

        Returns:
            A function that removes the provider. What ``history`` saved stays in sight; returning None once beforehand
            marks it as gone.

        Raises:
            GloveError: ``ERR_CONTEXT_DELIVERY``, ``ERR_CONTEXT_KEY``.
        """
        return self._providers.add(provider, delivery, key)

    def build(self, store: StoreAdapter | None = None) -> Self:
        """Make the agent ready. Returns the agent itself.

        ``store`` counts only the first time, and only if the constructor was given none; building again changes
        nothing.
        """
        if self._core is not None:
            if store is not None and store is not self._core.context.store:
                log.warning("the agent is built already; the other store is ignored", store=store.identifier)
            return self
        self._core = assemble(
            self._store or store or MemoryStore(),
            prompt=self._prompt,
            registry=self._registry,
            subscribers=self._subscribers,
            arrivals=self._arrivals,
            providers=self._providers,
            compaction=self._compaction,
            max_retries=self._max_retries,
            permission_limit_s=self._permission_limit_s,
        )
        if self._builtin_tools:
            self._registry.lead(builtin_tools(self._core.context.store))
        return self

    @abstractmethod
    def _controls(self) -> AgentControls:
        """The inside of the built agent."""

    def rebuild(self, store: StoreAdapter | None = None) -> Self:
        """Another name of ``build``."""
        return self.build(store)

    @abstractmethod
    async def process_request(
        self,
        request: str | Sequence[ContentPart] | Wake,
        abort: AbortToken | None = None,
        *,
        language: str | None = None,
        heard_reports: bool = False,
    ) -> Message:
        """Run a turn."""

    def _built(self) -> Core:
        if self._core is None:
            raise _not_built()
        return self._core


def _not_built() -> GloveError:
    return GloveError("ERR_NOT_BUILT", "The agent is not built yet.", "Call build() first.")
