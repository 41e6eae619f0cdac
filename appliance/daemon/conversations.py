"""The agent of a room: one conversation after another, each with a record of its own.

A conversation ends when nobody has spoken for a while; the next turn begins a new one with the same model and tools.
A record that cannot be written (a full disk) is continued in memory, so that the appliance goes on answering, and is
caught up with when the disk allows it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.clock import now, wall
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.core.arrivals import Wake
from agents.core.display import DisplayManager
from agents.core.messages import Message, TokenUsage, new_reply_id
from agents.core.preparers import TurnPreparers
from agents.core.runtime_context import ContextProviders
from appliance.session.mind import new_conversation_id

if TYPE_CHECKING:
    from agents.core.arrivals import WakeHandler
    from agents.core.driven import Driven
    from agents.core.events import Subscriber
    from agents.core.external_event import Disposition, WhenIdle
    from agents.core.glove import Glove
    from agents.core.messages import ContentPart, Delivery
    from agents.core.preparers import TurnPreparer
    from agents.core.runtime_context import ContextProvider
    from agents.core.store import StoreAdapter
    from appliance.session.mind import Mind

log = structlog.get_logger(__name__)

COMPACT_AFTER_S = 20.0
"""Silence after which a conversation that has grown long is summarised, in seconds."""


@dataclass(frozen=True)
class ConversationBegan:
    """A room has begun a conversation (or goes on with one of an earlier process)."""

    id: str


@dataclass(frozen=True)
class ConversationEnded:
    """A conversation is over; its record stays."""

    id: str


class RoomAgent:
    """What a voice session talks to (``SpokenAgent``); the agent behind it changes with the conversation.

    Args:
        mind: makes agents.
        idle_s: seconds without a turn after which the conversation is over.
        name: kept with each record, so that the room finds it again after a restart.
        conversation_id: the record to go on with; a new one when None.
    """

    def __init__(self, mind: Mind, *, idle_s: float, name: str = "", conversation_id: str | None = None) -> None:
        self.events = Emitter()
        self.display = DisplayManager()
        self.store_fault: GloveError | None = None
        self._mind = mind
        self._idle_s = idle_s
        self._name = name
        self._resumed = conversation_id
        self._glove: Glove | None = None
        self._subscribers: list[Subscriber] = []
        self._wake_handler: WakeHandler | None = None
        self._providers = ContextProviders()
        self._preparers = TurnPreparers()
        self._used = now()
        self._busy = 0
        self._lock = asyncio.Lock()
        self._compacting: AbortToken | None = None
        self._unkept = 0
        self._named = False

    @property
    def conversation_id(self) -> str | None:
        """The conversation that goes on, or None between two."""
        return self._glove.store.identifier if self._glove is not None else self._resumed

    @property
    def store(self) -> StoreAdapter | None:
        """The record of the conversation that goes on, or None between two."""
        return self._glove.store if self._glove is not None else None

    async def history(self, turns: int = 20) -> list[tuple[str, str]]:
        """The last ``turns`` exchanges of the conversation that goes on: (``user`` or ``agent``, text)."""
        async with self._lock:
            if self._glove is None and self._resumed is None:
                return []
            store = (await self._open()).store
        return said(await store.get_visible_messages())[-2 * turns :]

    async def process_request(
        self,
        request: str | Sequence[ContentPart] | Wake,
        abort: AbortToken | None = None,
        *,
        language: str | None = None,
        heard_reports: bool = False,
    ) -> Message:
        """Answer one turn, in a new conversation if the last one is over. Raises as ``Glove.process_request``."""
        if isinstance(request, Wake):
            return await request.run(abort, language=language, heard_reports=heard_reports)
        self._busy += 1
        try:
            if self._compacting is not None:
                self._compacting.abort("somebody speaks")
            async with self._lock:
                if self._glove is not None and self._busy == 1 and now() - self._used >= self._idle_s:
                    await self._end()
                glove = await self._writable(await self._open())
            return await glove.process_request(request, abort, language=language, heard_reports=heard_reports)
        finally:
            self._busy -= 1
            self._used = now()

    async def driven(self) -> Driven:
        """The agent's side of the conversation that goes on, for a realtime model; see ``Glove.driven``."""
        async with self._lock:
            if self._glove is not None and not self._glove.busy and now() - self._used >= self._idle_s:
                await self._end()
            glove = await self._writable(await self._open())
        return await glove.driven()

    async def rehearse(self, request: str, abort: AbortToken, *, language: str | None = None) -> bool:
        """Ask the model ahead, in the conversation that goes on; see ``Glove.rehearse``."""
        glove = self._glove
        if glove is None or self._busy or self._compacting is not None or now() - self._used >= self._idle_s:
            return False
        return await glove.rehearse(request, abort, language=language)

    def add_subscriber(self, subscriber: Subscriber) -> RoomAgent:
        """Send events of this and the following conversations to ``subscriber``."""
        self._subscribers.append(subscriber)
        if self._glove is not None:
            self._glove.add_subscriber(subscriber)
        return self

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Undo one ``add_subscriber``."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
        if self._glove is not None:
            self._glove.remove_subscriber(subscriber)

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> bool:
        """Tell what was heard of a reply of the conversation that goes on."""
        return self._glove is not None and await self._glove.report_heard(reply_id, text, complete)

    async def record(self, text: str) -> None:
        """Keep in the conversation that ``text`` was said by the appliance without being asked."""
        message = Message(sender="agent", text=text, id=new_reply_id(), heard="complete", created_at=wall().isoformat())
        self._busy += 1
        try:
            async with self._lock:
                glove = await self._writable(await self._open())
            while glove.busy:
                await asyncio.sleep(0.05)
            await glove.store.append_messages([message])
        finally:
            self._busy -= 1

    def notify_user_activity(self) -> None:
        """The user speaks right now."""
        self._used = now()
        if self._glove is not None:
            self._glove.notify_user_activity()

    def add_context_provider(
        self, provider: ContextProvider, *, delivery: Delivery = "iteration", key: str | None = None
    ) -> Callable[[], None]:
        """Let ``provider`` speak in this and the following conversations; see ``Glove.add_context_provider``."""
        return self._providers.add(provider, delivery, key)

    async def get_runtime_context(
        self, abort: AbortToken | None = None, delivery: Delivery | None = None
    ) -> list[Message]:
        """What the providers say now; see ``Glove.get_runtime_context``."""
        async with self._lock:
            glove = await self._open()
        return await glove.get_runtime_context(abort, delivery)

    def add_turn_preparer(self, preparer: TurnPreparer) -> Callable[[], None]:
        """Call ``preparer`` before every turn of this and the following conversations."""
        return self._preparers.add(preparer)

    def set_wake_handler(self, handler: WakeHandler | None) -> None:
        """Let ``handler`` run the turns that events start, in this and the following conversations."""
        self._wake_handler = handler
        if self._glove is not None:
            self._glove.set_wake_handler(self._wake)

    async def emit_event(
        self,
        id: str,  # noqa: A002 - the name of the field on the wire
        source: str,
        kind: str,
        content: str | Sequence[ContentPart],
        when_idle: WhenIdle = "auto",
        expires_at: datetime | None = None,
    ) -> Disposition:
        """Tell the agent about something that happened outside the conversation; see ``Glove.emit_event``."""
        async with self._lock:
            glove = await self._open()
        return await glove.emit_event(id, source, kind, content, when_idle, expires_at)

    async def _wake(self, wake: Wake) -> object:
        self._busy += 1
        try:
            return await (wake.run() if self._wake_handler is None else self._wake_handler(wake))
        finally:
            self._busy -= 1
            self._used = now()

    async def rest(self) -> None:
        """Use an idle moment: end a conversation that is over, or summarise one that has grown long."""
        if self._busy or self._glove is None or self._glove.busy:
            return
        if now() - self._used >= self._idle_s:
            async with self._lock:
                if not self._busy:
                    await self._end()
        elif now() - self._used >= COMPACT_AFTER_S and await self._glove.compaction_due():
            self._compacting = AbortToken()
            try:
                await self._glove.compact(self._compacting)
            except Aborted:
                log.debug("summarising made way for a turn")
            finally:
                self._compacting = None

    async def close(self) -> None:
        """Close the record; a later turn goes on with the same conversation. Idempotent."""
        async with self._lock:
            if self._glove is not None:
                self._resumed = self._glove.store.identifier
                await self._keep_late()
                glove, self._glove = self._glove, None
                await glove.close()
                await glove.store.close()

    async def _open(self) -> Glove:
        if self._glove is None:
            resumed, self._resumed = self._resumed, None
            self._glove = self._made(self._agent(resumed or new_conversation_id()))
            self._used = now()
            self._named = resumed is not None
            if resumed is not None and await self._glove.recover() is not None:
                log.warning("a turn of an earlier process was left unanswered", conversation=resumed)
            self.events.emit(ConversationBegan(self._glove.store.identifier))
        return self._glove

    def _agent(self, conversation_id: str | None = None, store: StoreAdapter | None = None) -> Glove:
        return self._mind.agent(
            conversation_id, display=self.display, store=store, providers=self._providers, preparers=self._preparers
        )

    def _made(self, glove: Glove) -> Glove:
        for subscriber in self._subscribers:
            glove.add_subscriber(subscriber)
        glove.set_wake_handler(self._wake)
        return glove

    async def _end(self) -> None:
        if self._glove is None:
            return
        await self._keep_late()
        glove, self._glove = self._glove, None
        self.display.clear_stack()
        self.events.emit(ConversationEnded(glove.store.identifier))
        await glove.close()
        await glove.store.close()

    async def _writable(self, glove: Glove) -> Glove:
        """``glove``, or its continuation in memory when the record cannot be written."""
        from agents.stores.memory import MemoryStore

        if isinstance(glove.store, MemoryStore):
            return glove
        try:
            await self._probe(glove.store)
            self.store_fault = None
        except GloveError as fault:
            log.error("the conversation goes on in memory", code=fault.code, error=fault.message, remedy=fault.remedy)
            self.store_fault = fault
            kept = await _readable(glove.store)
            memory = MemoryStore(glove.store.identifier)
            await memory.append_messages(kept)
            self._unkept = len(kept)
            await glove.close()
            await glove.store.close()
            self._glove = self._made(self._agent(store=memory))
            return self._glove
        return glove

    async def _probe(self, store: StoreAdapter) -> None:
        """Write something that changes nothing, or the name, to see whether the record can be written."""
        from agents.stores.sqlite import SqliteStore

        if self._name and not self._named and isinstance(store, SqliteStore):
            await store.set_name(self._name)
            self._named = True
        else:
            await store.add_tokens(TokenUsage())

    async def _keep_late(self) -> None:
        """Bring what had to stay in memory to the disk, if it can be written now."""
        if self._glove is None or self.store_fault is None or self._mind.path is None:
            return
        from agents.stores.sqlite import SqliteStore

        late = (await self._glove.store.get_messages())[self._unkept :]
        disk = SqliteStore(self._mind.path, self._glove.store.identifier)
        try:
            await disk.append_messages(late)
            self.store_fault = None
        except GloveError as fault:
            log.error("a part of a conversation could not be kept", code=fault.code, messages=len(late))
        finally:
            await disk.close()


def said(messages: list[Message]) -> list[tuple[str, str]]:
    """What people would find in a transcript: (``user`` or ``agent``, text)."""
    return [(message.sender, message.text) for message in spoken_lines(messages)]


def spoken_lines(messages: list[Message]) -> list[Message]:
    """What was said of ``messages``, as it was written and without the machinery in between."""
    return [
        message.model_copy(update={"text": message.pre_modified_text or message.text})
        for message in messages
        if message.text.strip()
        and not message.tool_results
        and not message.is_compaction
        and not message.is_skill_injection
        and message.framework_context is None
    ]


async def latest_conversation(path: Path | None, name: str, idle_s: float) -> str | None:
    """The conversation named ``name`` that was used within the last ``idle_s`` seconds, or None.

    Raises ``GloveError`` when the file cannot be read.
    """
    from agents.stores.sqlite import list_conversations

    if path is None or not path.exists():
        return None
    for known in await list_conversations(path):
        if known.name == name and known.parent is None:
            age_s = (wall() - datetime.fromisoformat(known.updated_at)).total_seconds()
            return known.session_id if 0 <= age_s < idle_s else None
    return None


async def _readable(store: StoreAdapter) -> list[Message]:
    try:
        return await store.get_messages()
    except GloveError:
        log.warning("the conversation so far cannot be read")
        return []
