"""A session with an agent on the server: its turns, and what those who follow it are told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.core.arrivals import Wake
from agents.core.display import QuestionClosed, SlotPushed, SlotResolved, SlotUpdated
from agents.core.events import AgentEvent, TokenConsumption
from agents.core.glove import Glove
from agents.core.messages import ContentPart, Message, TokenUsage, new_turn_id, parts_text
from agents.core.store import StoreAdapter
from agents.web.backlog import Backlog
from agents.web.readers import Readers
from agents.web.refusals import fault_fields, internal
from agents.web.wire import Event, SlotChange, agent_event, done_event, failed_event, slot_event, slot_fields

log = structlog.get_logger(__name__)

PRIVATE_EVENTS = frozenset({"runtime_context"})
"""Events that are not relayed: they hold what the operator tells the model."""

LOGGED_EVENTS = 1000
"""Events of a running turn that are kept for those who come in the middle of it; older ones are forgotten."""


@dataclass
class _Turn:
    """A turn that runs or waits for its place; ``done`` is how it ended."""

    id: str = field(default_factory=new_turn_id)
    abort: AbortToken = field(default_factory=AbortToken)
    usage: TokenUsage = field(default_factory=TokenUsage)
    done: Event | None = None


class AgentSession:
    """One agent, its turns and its readers.

    Turns that events from outside start are run here too and told like any other: the session is the agent's wake
    handler.

    Args:
        session_id: names it.
        glove: a built agent; closed with the session, and so is its store.
        keep_running: whether a turn goes on when the one who asked for it leaves.
        readers: those who follow; the default limits when None.
    """

    def __init__(
        self, session_id: str, glove: Glove, *, keep_running: bool = False, readers: Readers | None = None
    ) -> None:
        self.id = session_id
        self.glove = glove
        self._keep_running = keep_running
        self._readers = Readers() if readers is None else readers
        self._scope = Scope(f"web session {session_id}")
        self._turns: list[_Turn] = []
        self._asked: _Turn | None = None
        self._log = Backlog()
        glove.add_subscriber(self)
        glove.set_wake_handler(self._wake)
        self._unlisten = glove.display.events.on(object, self._slot_changed)

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return bool(self._turns)

    @property
    def store(self) -> StoreAdapter:
        """The conversation's record."""
        return self.glove.store

    def state(self) -> Event:
        """What somebody who comes new must know."""
        slots = [slot_fields(slot) for slot in self.glove.display.stack]
        return {"session_id": self.id, "busy": self.busy, "slots": slots}

    async def follow(self) -> AsyncGenerator[Event]:
        """``attached``, what the running turn has brought so far, and then everything.

        Raises:
            GloveError: ``ERR_READERS_FULL``.
        """
        reader = self._readers.add([{"type": "attached", **self.state()}, *self._log.events])
        try:
            async for event in reader.events():
                yield event
        finally:
            self._readers.remove(reader)

    async def chat(self, request: str | Sequence[ContentPart], *, language: str | None = None) -> AsyncGenerator[Event]:
        """Run a turn and tell of it, to ``done``. Closing the generator aborts the turn, unless turns are kept running.

        Raises:
            GloveError: ``ERR_SESSION_BUSY``, another turn was asked for and has not ended; ``ERR_READERS_FULL``.
        """
        if self._asked is not None:
            raise GloveError("ERR_SESSION_BUSY", "This session is answering already.", "Wait, or stop it first.")
        reader = self._readers.add()
        self._asked = turn = _Turn()
        self._scope.spawn(self._answer(turn, request, language), "turn")
        try:
            async for event in reader.events():
                yield event
                if event is turn.done:
                    return
        finally:
            self._readers.remove(reader)
            if turn.done is None and not self._keep_running:
                turn.abort.abort("the caller left")

    def abort(self) -> bool:
        """Stop all turns. False if there is none."""
        turns = [turn for turn in self._turns if not turn.abort.aborted]
        for turn in turns:
            turn.abort.abort("stopped")
        return bool(turns)

    def resolve_slot(self, slot_id: str, value: object) -> None:
        """Answer a question, or close a card. Raises ``GloveError`` (``ERR_SLOT_UNKNOWN``) if it is gone."""
        display = self.glove.display
        if not display.resolve(slot_id, value) and not display.remove_slot(slot_id):
            raise _gone()

    def reject_slot(self, slot_id: str, reason: str | None) -> None:
        """Refuse a question. Raises ``GloveError`` (``ERR_SLOT_UNKNOWN``) if nobody waits for it any more."""
        error = QuestionClosed("ERR_SLOT_REJECTED", reason or "The question was refused.")
        if not self.glove.display.reject(slot_id, error):
            raise _gone()

    async def close(self) -> None:
        """Stop the turns, end the readers, close the agent and its store; idempotent."""
        self.abort()
        self._readers.end("closed")
        self._unlisten()
        await self._scope.close()
        self.glove.remove_subscriber(self)
        self.glove.set_wake_handler(None)
        await self.glove.close()
        await self.glove.store.close()

    async def record(self, event: AgentEvent) -> None:
        """Take note of an event of the agent."""
        if isinstance(event, TokenConsumption) and self._turns:
            # Turns take their places in order: the first of them is the one that runs.
            self._turns[0].usage += event.consumption
        if event.type not in PRIVATE_EVENTS:
            self._tell(agent_event(event))

    async def _answer(self, turn: _Turn, request: str | Sequence[ContentPart], language: str | None) -> None:
        try:
            # The caller is told how the turn failed; anything unforeseen is also the scope's to log.
            with contextlib.suppress(Aborted, GloveError):
                async with self._taking_part(turn):
                    self._tell(_user_message(turn.id, request))
                    await self._run(turn, lambda: self._process(turn, request, language))
        finally:
            self._asked = None

    async def _process(self, turn: _Turn, request: str | Sequence[ContentPart], language: str | None) -> Message:
        return await self.glove.process_request(request, turn.abort, language=language, turn_id=turn.id)

    async def _wake(self, wake: Wake) -> None:
        turn = _Turn()
        async with self._taking_part(turn):
            await self._run(turn, lambda: wake.run(turn.abort))

    @contextlib.asynccontextmanager
    async def _taking_part(self, turn: _Turn) -> AsyncGenerator[None]:
        if not self._turns:
            self._log.clear()
        self._turns.append(turn)
        try:
            yield
        finally:
            self._turns.remove(turn)
            if turn.done is not None:
                self._tell(turn.done)
            if not self._turns:
                self._log.clear()

    async def _run(self, turn: _Turn, work: Callable[[], Awaitable[Message]]) -> None:
        """Run ``work`` and note how it ended. Raises what it raised."""
        try:
            turn.done = done_event(await work(), turn.usage)
        except (Aborted, asyncio.CancelledError):
            turn.done = {**done_event(Message(sender="agent"), turn.usage), "aborted": True}
            raise
        except GloveError as fault:
            log.warning("a turn failed", session_id=self.id, code=fault.code, error=fault.message)
            turn.done = failed_event(fault_fields(fault), turn.usage)
            raise
        except Exception:
            turn.done = failed_event(fault_fields(internal()), turn.usage)
            raise

    def _slot_changed(self, change: object) -> None:
        if isinstance(change, SlotPushed | SlotUpdated | SlotResolved):
            told: SlotChange = change
            self._readers.offer(slot_event(told))

    def _tell(self, event: Event) -> None:
        self._readers.offer(event)
        if self._turns:
            self._log.add(event)
            if len(self._log) > LOGGED_EVENTS:
                self._log.take()


def _user_message(turn_id: str, request: str | Sequence[ContentPart]) -> Event:
    """The user's words, under the id that their message has in the record."""
    told: Event = {"type": "user_message", "id": turn_id}
    if isinstance(request, str):
        return {**told, "text": request}
    return {**told, "text": parts_text(request), "content": list(request)}


def _gone() -> GloveError:
    return GloveError("ERR_SLOT_UNKNOWN", "This question is not open any more.")
