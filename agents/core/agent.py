"""The agent loop: think, act, think again, until there is an answer; what happened is in history whatever happens."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.arrivals import Arrivals
from agents.core.context import Context
from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta
from agents.core.executor import Batch, Executor
from agents.core.heard import HeardLedger
from agents.core.inbox import blocking_reminder, deliver_resolved
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall, new_reply_id, new_turn_id
from agents.core.model import Notify
from agents.core.observer import Observer
from agents.core.opening import Opening
from agents.core.prompt import PromptMachine
from agents.core.registry import ToolRegistry
from agents.core.runtime_context import ContextProviders, HistoryContext
from agents.core.tool import ToolContext
from agents.core.turn import Turn

log = structlog.get_logger(__name__)


class Agent:
    """Runs one turn at a time over one conversation; ``Glove`` sees to it that turns do not overlap."""

    def __init__(
        self,
        *,
        context: Context,
        prompt: PromptMachine,
        registry: ToolRegistry,
        executor: Executor,
        observer: Observer,
        ledger: HeardLedger,
        arrivals: Arrivals,
        providers: ContextProviders,
        notify: Notify,
    ) -> None:
        self._context = context
        self._prompt = prompt
        self._registry = registry
        self._executor = executor
        self._observer = observer
        self._ledger = ledger
        self._arrivals = arrivals
        self._providers = providers
        self._notify = notify

    async def ask(
        self, message: Message | None, turn: Turn, tools: ToolContext, *, before: Sequence[Message] = ()
    ) -> Message:
        """Store ``message``, work until the model answers without calling tools, and return that answer.

        Events that wait are stored before the message, and later right after the results of each batch of tools.
        Without a message they are the message; an empty one is returned when none waits. ``before`` is stored right
        before the message.

        Raises ``Aborted`` when the turn is aborted, ``GloveError`` for faults of the model or the store, and whatever
        a context provider raises. The user's message, the text of a reply cut short, and a result for every tool call
        are stored before any of them is raised.
        """
        if message is None and not await self._arrivals.waiting():
            return Message(sender="agent")
        opening = await self._open([] if message is None else [*before, message], turn.abort)
        if opening is None:
            return Message(sender="agent")
        calls_made = 0
        while True:
            turn.abort.check()
            if calls_made >= self._observer.config.max_turns:
                return await self._out_of_turns(calls_made, turn)
            reply = await self._reply(opening, turn)
            calls_made += 1
            calls = _calls(reply)
            if not calls:
                return reply[-1]
            await self._act(Batch(calls), turn, tools)
            turn.abort.check()
            async with self._arrivals.telling() as news:
                if news:
                    await self._context.append(news)
            if turn.compaction_wanted or await self._observer.due():
                turn.compaction_wanted = False
                await self._observer.compact(turn.abort)

    async def relay(self, message: Message, answer: Sequence[Message], turn: Turn) -> Message:
        """Store ``message`` and the ``answer`` that was found without the model. Returns the last agent message of it.

        Replies in it are told and can be reported on as if a model had made them. Events go on waiting.
        """
        try:
            await self._ledger.settle(turn.abort)
        finally:
            await self._context.append([*self._ledger.take_notices(), message])
        for part in answer:
            turn.abort.check()
            if part.sender == "agent":
                await self._say(part, turn, "short_circuit")
            else:
                await self._context.append([part])
        return answer[-1]

    async def rehearse(self, message: Message, language: str | None, abort: AbortToken) -> bool:
        """Make the first model call of a request with ``message`` ahead; nothing is told, stored or acted on.

        The request takes the call over if it turns out to be the same. Returns when that is settled: whether it
        happened. Raises what a context provider raises, ``Aborted``, and faults of the store.
        """
        visible = await self._context.foreseen([])
        saved = await self._providers.read_history(visible, abort, _tell_nobody)
        frozen = [*saved.media, *await self._providers.read("request", abort, _tell_nobody)]
        opening = Opening(message, frozen, await blocking_reminder(self._context))
        history = await self._context.foreseen([*saved.records, message])
        fresh = await self._providers.read("iteration", abort, _tell_nobody)
        abort.check()
        messages = opening.arrange(history, fresh)
        return await self._prompt.rehearse(messages, self._registry.specs, language=language, abort=abort)

    async def compact(self, turn: Turn) -> bool:
        """Summarise the history from inside ``turn``; while tools run, not before their results are stored.

        Returns whether it is done. Raises ``Aborted``.
        """
        if turn.acting:
            turn.compaction_wanted = True
            return False
        return await self._observer.compact(turn.abort)

    async def _open(self, said: Sequence[Message], abort: AbortToken) -> Opening | None:
        """Store what the request begins with, and read what all of its model calls share. None if there is nothing."""
        try:
            await self._ledger.settle(abort)
            await deliver_resolved(self._context)
            reminder = await blocking_reminder(self._context)
            context = await self._saved_context(abort)
        except BaseException:
            await self._context.append(said)
            raise
        async with self._arrivals.telling() as news:
            told = [*news, *said]
            if not told:
                return None
            message = told[-1]
            message.id = message.id or new_turn_id()
            await self._context.append([*self._ledger.take_notices(), *context.records, *told])
        return Opening(message, [*context.media, *await self._providers.read("request", abort, self._notify)], reminder)

    async def _saved_context(self, abort: AbortToken) -> HistoryContext:
        if not self._providers.registered("history"):
            return HistoryContext()
        visible = await self._context.store.get_visible_messages()
        return await self._providers.read_history(visible, abort, self._notify)

    async def _reply(self, opening: Opening, turn: Turn) -> list[Message]:
        """One model call, stored and counted. Returns the agent messages, at least one."""
        fresh = await self._providers.read("iteration", turn.abort, self._notify)
        draft = Draft(self._notify)
        self._ledger.open(draft.reply_id)
        try:
            result = await self._prompt.run(
                opening.arrange(await self._context.messages(), fresh),
                self._registry.specs,
                reply_id=draft.reply_id,
                language=turn.language,
                notify=draft.notify,
                abort=turn.abort,
            )
            turn.abort.check()
            reply = _agent_messages(result, draft.reply_id)
            if any(part.tool_calls for part in reply) and await self._observer.imminent():
                # Before the reply is stored, so that it and its results are not summarised away.
                await self._observer.compact(turn.abort)
        except BaseException:
            await self._store_cut(draft, turn)
            raise
        await self._keep(reply, result.usage, turn)
        return reply

    async def _keep(self, reply: list[Message], usage: TokenUsage, turn: Turn) -> None:
        """Store and count a reply. If that fails once it is stored, its calls are stored as not carried out."""
        stored = [part for part in reply if part.text or part.tool_calls or part.reasoning_content]
        written = False

        async def write() -> None:
            nonlocal written
            await self._context.append(stored)
            written = True

        try:
            await self._ledger.keep(reply[0], write, expect_report=turn.heard_reports and bool(stored))
            await self._observer.count(usage)
        except BaseException:
            if written and (calls := _calls(reply)):
                await self._context.append_for_certain([_results(Batch(calls))])
            raise

    async def _store_cut(self, draft: Draft, turn: Turn) -> None:
        """Keep what a reply that was cut short had said so far; its tool calls never ran and are forgotten."""
        if not draft.text:
            self._ledger.discard(draft.reply_id)
            return
        message = Message(sender="agent", text=draft.text, id=draft.reply_id, heard="interrupted")
        try:
            await self._ledger.keep(message, lambda: self._context.append([message]), expect_report=turn.heard_reports)
        except GloveError:
            # The reason why the reply was cut is on its way to the caller and must not be replaced.
            log.exception("a reply cut short could not be stored", reply_id=draft.reply_id)

    async def _act(self, batch: Batch, turn: Turn, tools: ToolContext) -> None:
        """Run a batch and store a result for every call of it, even if the turn ends meanwhile."""
        turn.acting = True
        try:
            await self._executor.run(batch, tools, self._notify)
        finally:
            turn.acting = False
            await self._context.append_for_certain([_results(batch)])

    async def _out_of_turns(self, calls_made: int, turn: Turn) -> Message:
        text = (
            f"I have reached the maximum number of turns ({calls_made}) for one request. Send a new message to go on."
        )
        message = Message(sender="agent", text=text)
        await self._say(message, turn, "max_turns")
        return message

    async def _say(self, message: Message, turn: Turn, stop_reason: str) -> None:
        """Tell and store a reply that no model made."""
        message.id = reply_id = new_reply_id()
        self._ledger.open(reply_id)
        await self._notify(ModelResponse(message.text, reply_id, tuple(message.tool_calls or ()), stop_reason))
        await self._ledger.keep(message, lambda: self._context.append([message]), expect_report=turn.heard_reports)


class Draft:
    """A reply while it is being produced: its id, and what was said of it so far."""

    def __init__(self, notify: Notify) -> None:
        self.reply_id = new_reply_id()
        self.text = ""
        self._notify = notify

    async def notify(self, event: AgentEvent) -> None:
        """Take note of text, then pass the event on."""
        if isinstance(event, TextDelta):
            self.text += event.text
        elif isinstance(event, ModelResponse | ModelResponseComplete) and not self.text:
            self.text = event.text
        await self._notify(event)


async def _tell_nobody(_: AgentEvent) -> None:
    """Nobody is told about what may never happen."""


def _calls(reply: Sequence[Message]) -> list[ToolCall]:
    return [call for part in reply for call in part.tool_calls or ()]


def _results(batch: Batch) -> Message:
    return Message(sender="user", text="tool results", tool_results=batch.results)


def _agent_messages(result: ModelResult, reply_id: str) -> list[Message]:
    """The agent messages of a result; the first carries the reply id, and an empty one stands for none at all."""
    reply = [message for message in result.messages if message.sender == "agent"] or [Message(sender="agent")]
    for index, message in enumerate(reply):
        message.id = reply_id if index == 0 else message.id or new_reply_id()
    return reply
