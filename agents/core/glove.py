"""``Glove``: an agent to be talked to. Builder and runnable are the same object."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.arrivals import Wake
from agents.core.assembly import Core
from agents.core.builder import AgentBuilder
from agents.core.driven import Driven
from agents.core.extensions.controls import AgentControls
from agents.core.external_event import Disposition, ExternalEvent, WhenIdle
from agents.core.messages import ContentPart, Delivery, Message, user_message
from agents.core.runtime_context import DELIVERIES
from agents.core.tool import ToolContext
from agents.core.turn import Turn, carefully, current_turn, running


class Glove(AgentBuilder):
    """An agent.

    ``Glove(model=…, system_prompt=…).fold(tool).build()`` makes one; ``await glove.process_request("…")`` talks to it.
    Requests are taken one at a time, in order of arrival. ``AgentBuilder`` documents the arguments.
    """

    _driven: Driven | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn is running."""
        return self._queue.busy

    async def get_runtime_context(
        self, abort: AbortToken | None = None, delivery: Delivery | None = None
    ) -> list[Message]:
        """What the providers of ``delivery`` (of all, in the order of placement, when None) say now. Nothing is saved.

        Raises what a provider raises, and ``Aborted``.
        """
        token = abort or AbortToken()
        deliveries: Sequence[Delivery] = (delivery,) if delivery is not None else DELIVERIES[::-1]
        notify = self._subscribers.emit
        return [message for each in deliveries for message in await self._providers.read(each, token, notify)]

    async def process_request(
        self,
        request: str | Sequence[ContentPart] | Wake,
        abort: AbortToken | None = None,
        *,
        language: str | None = None,
        heard_reports: bool = False,
        turn_id: str | None = None,
    ) -> Message:
        """Answer the user, or the events of a wake. Returns the last agent message of the turn.

        Waits for earlier requests first. Cancelling the caller aborts the turn, waits until history is in order, and
        then lets the cancellation through.

        Args:
            request: what the user said: text, or parts of text and media; or a wake that a handler was given.
            abort: stops the turn, also while it waits for earlier ones.
            language: language of the user's words (BCP-47 primary tag).
            heard_reports: the caller speaks replies aloud and calls ``report_heard`` once for each reply with text.
            turn_id: id of the message that holds the user's words; a fresh one when None.

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
            message = None if isinstance(request, Wake) else user_message(request, turn_id)
            work = asyncio.ensure_future(self._turn(core, message, turn))
            return await carefully(work, turn.abort)
        finally:
            if unlink is not None:
                unlink()

    async def rehearse(self, request: str, abort: AbortToken, *, language: str | None = None) -> bool:
        """Ask the model already what ``request`` will ask if it comes; until then nothing is told, stored or acted on.

        ``process_request`` takes the call over if it would make just the same one; otherwise it is given up. Does
        nothing while a turn runs, or if the request calls hooks or skills. Returns when it is settled whether the call
        is taken over, which ``abort`` ends at the latest: whether it was.

        Args:
            request: what the user seems to have said.
            abort: gives the call up.
            language: of the user's words (BCP-47 primary tag).

        Raises:
            Aborted: it was given up before the model was asked.
            GloveError: ``ERR_NOT_BUILT``; faults of the store or a context provider.
        """
        core = self._built()
        message = user_message(request)
        if self._queue.busy or self._extensions.called_in(message):
            return False
        return await core.agent.rehearse(message, language, abort)

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

    async def driven(self) -> Driven:
        """The agent's side of this conversation, for a realtime model that runs it; always the same object.

        Raises ``GloveError`` (``ERR_NOT_BUILT``).
        """
        core = self._built()
        if self._driven is None:
            notify = self._subscribers.emit
            self._driven = Driven(self, core, self._registry, self._arrivals, self._floor, notify)
        return self._driven

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

    async def force_compaction(self) -> bool:
        """Summarise the history as ``compact`` does, also from inside a turn of this agent.

        While tools run it waits until their results are stored, so that no call is parted from its result, and returns
        False; otherwise it returns when it is done.
        """
        turn = current_turn(self)
        return await self.compact() if turn is None else await self._built().agent.compact(turn)

    async def compaction_due(self) -> bool:
        """Whether the history has come near its limit and an idle moment should be used to summarise it."""
        return await self._built().observer.imminent()

    async def recover(self) -> Message | None:
        """Find a user message that an earlier process stored and did not answer, and mark it in history.

        Replies that it was speaking when it ended are marked too: nobody knows how much of them was heard.
        Happens by itself before the first turn; calling it earlier lets a room say that something was left unanswered.
        Nothing is run again. Returns the message, or None. Raises ``GloveError`` (``ERR_TURN_REENTRANT``) from inside a
        turn, and faults of the store.
        """
        core = self._built()
        self._must_not_wait_for_itself()
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
        async with core.context.journal.holding(message) as written, self._floor(turn.abort):
            with running(turn):
                try:
                    await written()
                    await core.recover()
                    await self._preparers.run(turn.abort)
                    said = None if message is None else await self._extensions.prepare(message, turn.abort)
                except BaseException:
                    if message is not None:
                        await core.context.append([message])
                    raise
                tools = ToolContext(self._display, self, turn.abort, turn.language or "en")
                if said is None:
                    return await core.agent.ask(None, turn, tools)
                if said.answer is not None:
                    return await core.agent.relay(said.message, said.answer, turn)
                return await core.agent.ask(said.message, turn, tools, before=said.before)

    def _controls(self) -> AgentControls:
        core = self._built()
        return AgentControls(self, core.context, core.observer, self._prompt, core.executor)

    def _must_not_wait_for_itself(self) -> None:
        if current_turn(self) is not None:
            raise GloveError(
                "ERR_TURN_REENTRANT",
                "What runs inside a turn asked its own agent for something that waits for this turn to end.",
                "Use another agent for nested work, or start it after the turn.",
            )
