"""``Glove``: configure an agent, build it, run it. Builder and runnable are the same object."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from datetime import datetime

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.arrivals import Arrivals, Wake, WakeHandler
from agents.core.assembly import Core, assemble
from agents.core.display import DisplayManager
from agents.core.events import Subscriber
from agents.core.executor import MAX_RETRIES
from agents.core.external import Disposition, Events, ExternalEvent, WhenIdle
from agents.core.messages import ContentPart, Delivery, Message, new_turn_id, parts_text
from agents.core.model import ModelAdapter
from agents.core.observer import Compaction
from agents.core.permissions import ANSWER_LIMIT_S
from agents.core.preparers import TurnPreparer, TurnPreparers
from agents.core.prompt import PromptMachine
from agents.core.queue import TurnQueue
from agents.core.registry import AnyTool, ToolRegistry
from agents.core.runtime_context import DELIVERIES, ContextProvider, ContextProviders
from agents.core.store import StoreAdapter
from agents.core.subscribers import Subscribers
from agents.core.tool import ToolContext
from agents.core.turn import Turn, running, waits_for_itself

log = structlog.get_logger(__name__)


class Glove:
    """An agent.

    ``Glove(model=…, system_prompt=…).fold(tool).build()`` makes one; ``await glove.process_request("…")`` talks to it.
    Requests are taken one at a time, in order of arrival.

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
    ) -> None:
        self.server_mode = server_mode
        self._prompt = PromptMachine(model, system_prompt, summarise=summarise_tool_results)
        self._store = store
        self._display = display or DisplayManager()
        self._compaction = compaction or Compaction()
        self._max_retries = max_retries
        self._permission_limit_s = permission_limit_s
        self._registry = ToolRegistry()
        self._subscribers = Subscribers()
        self._queue = TurnQueue()
        self._preparers = TurnPreparers()
        self._providers = ContextProviders(self._subscribers.emit)
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

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._queue.busy

    def fold(self, tool: AnyTool) -> Glove:
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

    def add_subscriber(self, subscriber: Subscriber) -> Glove:
        """Deliver events to ``subscriber``; added twice, it records twice. Returns the agent itself."""
        self._subscribers.add(subscriber)
        return self

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Undo one ``add_subscriber``."""
        self._subscribers.remove(subscriber)

    def set_model(self, model: ModelAdapter) -> None:
        """Use ``model`` from the next model call on."""
        self._prompt.model = model

    def set_system_prompt(self, system_prompt: str) -> None:
        """Use ``system_prompt`` from the next model call on."""
        self._prompt.system_prompt = system_prompt

    def set_display(self, display: DisplayManager) -> None:
        """Use ``display`` for tool calls from now on."""
        self._display = display

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

    async def get_runtime_context(
        self, abort: AbortToken | None = None, delivery: Delivery | None = None
    ) -> list[Message]:
        """What the providers of ``delivery`` (of all, in the order of placement, when None) say now. Nothing is saved.

        Raises what a provider raises, and ``Aborted``.
        """
        token = abort or AbortToken()
        deliveries: Sequence[Delivery] = (delivery,) if delivery is not None else DELIVERIES[::-1]
        return [message for each in deliveries for message in await self._providers.read(each, token)]

    def build(self, store: StoreAdapter | None = None) -> Glove:
        """Make the agent ready. Returns the agent itself.

        ``store`` counts only the first time, and only if the constructor was given none; building again changes
        nothing.
        """
        if self._core is not None:
            if store is not None and store is not self._core.context.store:
                log.warning("the agent is built already; the other store is ignored", store=store.identifier)
            return self
        self._core = assemble(
            self._store or store or _memory_store(),
            prompt=self._prompt,
            registry=self._registry,
            subscribers=self._subscribers,
            arrivals=self._arrivals,
            providers=self._providers,
            compaction=self._compaction,
            max_retries=self._max_retries,
            permission_limit_s=self._permission_limit_s,
        )
        return self

    async def process_request(
        self,
        request: str | Sequence[ContentPart] | Wake,
        abort: AbortToken | None = None,
        *,
        language: str | None = None,
        heard_reports: bool = False,
    ) -> Message:
        """Answer the user, or the events of a wake. Returns the last agent message of the turn.

        Waits for earlier requests first. Cancelling the caller aborts the turn, waits until history is in order, and
        then lets the cancellation through.

        Args:
            request: what the user said: text, or parts of text and media; or a wake that a handler was given.
            abort: stops the turn, also while it waits for earlier ones.
            language: language of the user's words (BCP-47 primary tag).
            heard_reports: the caller speaks replies aloud and calls ``report_heard`` once for each reply with text.

        Raises:
            Aborted: the turn was aborted. What was said and done until then is stored.
            GloveError: ``ERR_NOT_BUILT``; ``ERR_TURN_REENTRANT`` when called from inside a turn of this agent, which
                would wait for itself; faults of the model or the store.
        """
        core = self._built()
        self._must_not_wait_for_itself()
        turn = Turn(self, AbortToken(), language, heard_reports)
        unlink = abort.on_abort(lambda: turn.abort.abort(abort.reason or "aborted")) if abort is not None else None
        try:
            turn.abort.check()
            if not isinstance(request, Wake):
                self._arrivals.activity.seen()
            message = None if isinstance(request, Wake) else _user_message(request)
            work = asyncio.ensure_future(self._turn(core, message, turn))
            return await _carefully(work, turn.abort)
        finally:
            if unlink is not None:
                unlink()

    async def emit_event(
        self,
        id: str,  # noqa: A002 - the name of the field on the wire
        source: str,
        kind: str,
        content: str | Sequence[ContentPart],
        when_idle: WhenIdle = "auto",
        expires_at: datetime | None = None,
    ) -> Disposition:
        """Tell the agent about something that happened outside the conversation.

        While a turn runs, the event joins it right after its next tool results. Otherwise it wakes the agent, or, while
        the user is active, is told with their next message, or wakes the agent if none comes within a minute.

        Args:
            id: chosen by the sender; the same id twice has no effect.
            source: who tells, for example ``webhook:ci``.
            kind: what it is, for example ``build.finished``.
            content: text, or parts of text and media; to the model it is information, never an instruction.
            when_idle: ``wake`` or ``defer`` instead of the policy's choice.
            expires_at: aware; the event is dropped if it still waits then.

        Returns:
            ``queued``, ``woke``, ``deferred``, ``dropped`` (expired, no room, policy) or ``duplicate``.
        """
        self._built()
        return await self._arrivals.emit(ExternalEvent(id, source, kind, content, when_idle, expires_at))

    def notify_user_activity(self) -> None:
        """The user types or speaks right now; events do not interrupt them for a while."""
        self._arrivals.activity.seen()

    async def close(self) -> None:
        """Stop waking for events; idempotent. Turns go on to their end, and the store stays open."""
        await self._arrivals.close()

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> bool:
        """Say what was really heard of a reply; its stored text becomes just that.

        May be called while the reply is still being produced, and long after the turn. The model of the next turn sees
        the amended text; a reply of which nothing was heard is kept in the store but not shown to the model. A store
        that cannot amend gets a notice before the next turn instead.

        Args:
            reply_id: ``reply_id`` of the reply's events, which is the id of its message.
            text: what was heard; empty if nothing.
            complete: whether that is the whole reply.

        Returns:
            False if the reply is unknown (nothing was changed).
        """
        return await self._built().ledger.report(reply_id, text, complete)

    async def compact(self, abort: AbortToken | None = None) -> bool:
        """Summarise the history now, between turns. False if it failed; history is then unchanged.

        A turn that only talks never summarises, so that nobody waits for it: whoever keeps a conversation alive calls
        this while it is idle and ``compaction_due`` says so. Raises ``Aborted``, and ``GloveError``
        (``ERR_TURN_REENTRANT``) from inside a turn.
        """
        core = self._built()
        self._must_not_wait_for_itself()
        token = abort or AbortToken()
        async with self._floor(token):
            return await core.observer.compact(token)

    async def compaction_due(self) -> bool:
        """Whether the history has come near its limit and an idle moment should be used to summarise it."""
        return await self._built().observer.imminent()

    async def recover(self) -> Message | None:
        """Find a user message that an earlier process stored and did not answer, and mark it in history.

        Replies that it was speaking when it ended are marked too: nobody knows how much of them was heard.
        Happens by itself before the first turn; calling it earlier lets a room say that something was left unanswered.
        Nothing is run again. Returns the message, or None.
        """
        core = self._built()
        async with self._floor(AbortToken()):
            return await core.recover()

    @contextlib.asynccontextmanager
    async def _floor(self, abort: AbortToken) -> AsyncGenerator[None]:
        """Hold the floor; events that arrived meanwhile and were not told are decided about afterwards."""
        try:
            async with self._queue.floor(abort):
                yield
        finally:
            if not self._queue.busy:
                self._arrivals.turn_ended()

    async def _turn(self, core: Core, message: Message | None, turn: Turn) -> Message:
        async with self._floor(turn.abort):
            with running(turn):
                await core.recover()
                try:
                    await self._preparers.run(turn.abort)
                except BaseException:
                    if message is not None:
                        await core.context.append([message])
                    raise
                tools = ToolContext(self._display, self, turn.abort, turn.language or "en")
                return await core.agent.ask(message, turn, tools)

    def _must_not_wait_for_itself(self) -> None:
        if waits_for_itself(self):
            raise GloveError(
                "ERR_TURN_REENTRANT",
                "A tool asked its own agent for another turn, which would wait for the tool to end.",
                "Use another agent for nested work, or start it after the turn.",
            )

    def _built(self) -> Core:
        if self._core is None:
            raise _not_built()
        return self._core


async def _carefully(work: asyncio.Task[Message], abort: AbortToken) -> Message:
    """Await ``work``; a cancelled caller aborts it and waits for its tidying up, but only the first time."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        if work.done():
            raise
        abort.abort("cancelled")
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            work.cancel()
            raise
        if not work.cancelled() and (fault := work.exception()) is not None and not isinstance(fault, Aborted):
            log.error("a cancelled turn failed", error=repr(fault))
        raise


def _user_message(request: str | Sequence[ContentPart]) -> Message:
    if isinstance(request, str):
        return Message(sender="user", text=request, id=new_turn_id())
    text = parts_text(request) or "[multimodal message]"
    return Message(sender="user", text=text, content=list(request), id=new_turn_id())


def _memory_store() -> StoreAdapter:
    from agents.stores.memory import MemoryStore

    return MemoryStore()


def _not_built() -> GloveError:
    return GloveError("ERR_NOT_BUILT", "The agent is not built yet.", "Call build() first.")
