"""RealtimeAgent: a Glove agent that a realtime model runs, speaking and hearing by itself.

The model gets the agent's instructions and tools; what is said goes into the agent's record as far as it was heard, so
that the same conversation can go on with the agent loop at any moment. It needs no room: sound of the user is handed
to ``send_audio``, and sound of the agent goes into a player, or out as ``audio`` events where the owner plays it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol

import structlog

from agents.base.abort import AbortToken
from agents.base.emitter import Emitter
from agents.base.errors import ConfigError, GloveError
from agents.base.scope import Scope
from agents.core.display import DisplayManager
from agents.core.driven import Driven
from agents.core.messages import Delivery, Message
from audio.io.player import Player
from audio.pcm import Pcm
from realtime.agent_events import ToolFinished, ToolStarted
from realtime.dialogue import Dialogue
from realtime.driven_model import is_s2s_driven_model
from realtime.link import SessionLink
from realtime.link_state import LinkSettings, LinkState
from realtime.replay import replayed
from realtime.s2s.contract import HistoryItem, Mode, S2SAdapter, SessionConfig, SessionPatch, ToolSpec
from realtime.s2s.create import create_s2s_adapter
from realtime.s2s.events import Interrupted, ToolCall, ToolCallsCancelled
from realtime.tool_calls import LIMIT_S, ToolCalls
from realtime.transcript import Transcript

log = structlog.get_logger(__name__)

OnToolCall = Callable[[str, Literal["start", "done", "error"], Any], None]
"""Called with a tool's name, what happens, and its input, its result or its error."""


class DrivenAgent(Protocol):
    """What a realtime model needs of an agent; ``agents.core.glove.Glove`` provides it."""

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack."""
        ...

    async def driven(self) -> Driven:
        """The agent's side of the conversation in progress."""
        ...

    async def get_runtime_context(
        self, abort: AbortToken | None = None, delivery: Delivery | None = None
    ) -> list[Message]:
        """What is true right now."""
        ...

    def notify_user_activity(self) -> None:
        """The user speaks right now."""
        ...


class RealtimeAgent:
    """A conversation with a realtime model that lasts as long as its owner wants.

    ``events`` emits the dataclasses of ``realtime.agent_events``, those of ``realtime.s2s.events`` of whichever session
    is in force, and ``LinkMoved`` and ``SessionReplaced`` of ``realtime.link_state``.

    Args:
        agent: built; it owns the record, the tools and the display.
        adapter: a session that is not connected. Without one the agent's model must be an ``s2s_driven_model`` that
            says how to make it.
        player: plays the agent's speech and counts what was heard. Without one the owner plays the ``audio`` events,
            and speech counts as heard at the pace at which it came.
        instructions: instead of the agent's.
        voice: one of the provider's.
        exclude_tools: names of tools that the model is not offered.
        on_tool_call: told of every call.
        settings: of the link.
        tool_limit_s: longest time for one tool.
        language: spoken before anything was heard (BCP-47 primary tag).

    Raises:
        ConfigError: ``ERR_S2S_ADAPTER``, there is neither an adapter nor a model that says how to make one; others as
            ``create_s2s_adapter``.
    """

    def __init__(
        self,
        agent: DrivenAgent,
        adapter: S2SAdapter | None = None,
        *,
        player: Player | None = None,
        instructions: str | None = None,
        voice: str | None = None,
        exclude_tools: Collection[str] = (),
        on_tool_call: OnToolCall | None = None,
        settings: LinkSettings | None = None,
        tool_limit_s: float = LIMIT_S,
        language: str = "en",
    ) -> None:
        self.events = Emitter()
        self.language = language
        self.is_idle: Callable[[], bool] = lambda: True
        """Asked as well before a session is replaced: whether the owner is idle, too."""
        self._agent = agent
        self._player = player
        self._instructions = instructions
        self._voice = voice
        self._excluded = frozenset(name.casefold() for name in exclude_tools)
        self._settings = settings
        self._tool_limit_s = tool_limit_s
        self._record: Driven | None = None
        self._context = ""
        self._updates = asyncio.Lock()
        self._assemble(adapter or _adapter_of(agent))
        if on_tool_call is not None:
            self.events.on(ToolStarted, lambda event: on_tool_call(event.name, "start", event.input))
            self.events.on(ToolFinished, lambda event: on_tool_call(event.name, _outcome(event), event.result))

    @property
    def adapter(self) -> S2SAdapter:
        """The session in force."""
        return self.link.adapter

    @property
    def player(self) -> Player | None:
        """What plays the agent's speech; None where the owner does."""
        return self._player

    @property
    def is_connected(self) -> bool:
        """Whether a session hears the user at this moment."""
        return self.link.stands

    @property
    def is_lost(self) -> bool:
        """Whether no session comes about, so that somebody else has to answer."""
        return self.link.state is LinkState.LOST

    @property
    def mode(self) -> Mode:
        """Of the adapter."""
        return self.adapter.mode

    @property
    def busy(self) -> bool:
        """Whether an answer is being made or spoken, or a tool is running."""
        return self.dialogue.responding or self.dialogue.speech.busy or self.calls.busy

    async def exposed_tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is offered."""
        return self._exposed(await self._driven())

    async def start(self) -> None:
        """Open a session; without effect while there is one. A failure leaves nothing behind and may be retried.

        Raises:
            S2SError: no session came about.
            GloveError: the record cannot be read.
        """
        if self.link.state is not LinkState.DOWN:
            return
        await self.link.start()
        self._transcript.start()

    async def start_later(self, fault: GloveError) -> None:
        """``start`` has failed with ``fault``: go on trying while somebody else answers."""
        self.link.start_lost(fault)
        self._transcript.start()

    async def stop(self) -> None:
        """End the session; what was heard of the answer is kept. ``start`` begins another. Idempotent."""
        if self.link.state is LinkState.DOWN:
            return
        self.dialogue.close()
        await self.calls.close()
        await self._scope.close()
        await self._transcript.close()
        await self.link.close()
        self._assemble(self.adapter.successor())

    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user at ``adapter.input_format``."""
        self.link.send_audio(pcm)

    def begin_turn(self) -> None:
        """The user begins to speak (manual turns); the agent is interrupted."""
        if not self.link.stands:
            self.interrupt()
        self.link.begin_turn()
        self.dialogue.user_speaks = True
        self._user_started()

    def end_turn(self, *, respond: bool = True) -> None:
        """The user has spoken (manual turns)."""
        self.dialogue.user_speaks = False
        if respond:
            self._transcript.user_speaks()
            self.dialogue.user_owes("")
        self.link.end_turn(respond=respond)

    def say(self, text: str) -> None:
        """A line that the user has written: the agent answers it instead of what it was saying."""
        self.interrupt()
        self._transcript.typed(text)
        self.dialogue.user_owes(text)
        self._user_started()
        self.link.write(text)

    def inject(self, text: str, *, respond: bool) -> None:
        """Tell the model something that is no turn of the user; with ``respond`` it speaks about it, else it is
        silent."""
        self.link.inject(text, respond=respond)

    def played_out(self) -> None:
        """The player has nothing left (``Player.on_drained``, brought to the loop by whoever owns the player)."""
        self.dialogue.drained()

    def interrupt(self) -> None:
        """Stop the answer: ``interrupted`` is always emitted, before ``agent_speech_stopped``."""
        if self.link.state in (LinkState.DOWN, LinkState.CLOSED):
            self.dialogue.cut()
            self.events.emit(Interrupted())
        else:
            self.adapter.interrupt()

    async def refresh_session(self) -> None:
        """Tell the session of instructions and tools that have changed; one that cannot change is replaced."""
        record = await self._driven()
        if not self.link.stands:
            return
        if self.adapter.capabilities.updates_tools:
            patch = SessionPatch(self._told_instructions(record), self._exposed(record))
            self.adapter.update_session(patch)
        else:
            self.link.renew()

    def renew(self) -> None:
        """The agent has begun another conversation: so does the model, at the next good moment."""
        self._record = None
        self.link.renew()

    async def tell_news(self, *, respond: bool) -> bool:
        """Tell the model of events from outside that wait, with ``respond`` so that it speaks about them.

        Returns whether there were any.
        """
        record = await self._driven()
        if not self.link.stands or not await record.has_news():
            return False
        async with record.news() as messages:
            for message in messages:
                self.link.inject(message.text, respond=respond)
            await record.keep(messages)
        return bool(messages)

    async def config(self) -> SessionConfig:
        """What a session begins with now (``LinkHost``)."""
        await self._transcript.flush(0.1)
        record = await self._driven()
        history: Sequence[HistoryItem] = (*replayed(await record.history()), *self._transcript.unwritten())
        self._context = await self._current_context()
        if self._context:
            history = (*history, HistoryItem("system", self._context))
        return SessionConfig(self._told_instructions(record), self._voice, self._exposed(record), tuple(history))

    def idle(self) -> bool:
        """Whether nothing is being heard, said or done (``LinkHost``)."""
        return self.dialogue.quiet and not self.calls.busy and self.is_idle()

    def _assemble(self, adapter: S2SAdapter) -> None:
        self._scope = Scope("realtime agent")
        self.link = SessionLink(adapter, self, self._settings)
        self._transcript = Transcript(self._driven)
        self.calls = ToolCalls(
            self.link,
            self._driven,
            self._transcript,
            self.events,
            exposed=self._is_exposed,
            asking=lambda: bool(self._agent.display.pending),
            language=lambda: self.language,
            limit_s=self._tool_limit_s,
        )
        self.link.events.on(ToolCall, self.calls.called)
        self.link.events.on(ToolCallsCancelled, self.calls.cancelled)
        self.dialogue = Dialogue(self.link, self._transcript, self.events, self._player, self._user_started)
        adapter.heard_ms = None if self._player is None else lambda item_id: self.dialogue.heard_ms(item_id)

    async def _driven(self) -> Driven:
        if self._record is None:
            self._record = await self._agent.driven()
        return self._record

    def _is_exposed(self, name: str) -> bool:
        return name.casefold() not in self._excluded

    def _exposed(self, record: Driven) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(tool.name, tool.description, tool.parameters)
            for tool in record.tools
            if self._is_exposed(tool.name)
        )

    def _told_instructions(self, record: Driven) -> str:
        return record.instructions if self._instructions is None else self._instructions

    def _user_started(self) -> None:
        self._agent.notify_user_activity()
        if not self._scope.closed:
            self._scope.spawn(self._update(), "update")

    async def _update(self) -> None:
        """Tell the model, in silence, what has changed since the user spoke last."""
        async with self._updates:
            try:
                context = await self._current_context()
                if context and context != self._context:
                    self.link.inject(context, respond=False)
                self._context = context
                await self.tell_news(respond=False)
            except GloveError as fault:
                log.error("the model could not be told the news", code=fault.code, error=fault.message)

    async def _current_context(self) -> str:
        messages = await self._agent.get_runtime_context()
        return "\n".join(message.text.strip() for message in messages if message.text.strip())


def _adapter_of(agent: object) -> S2SAdapter:
    model = getattr(agent, "model", None)
    if is_s2s_driven_model(model) and model.s2s is not None:
        return create_s2s_adapter(**model.s2s)
    raise ConfigError(
        "ERR_S2S_ADAPTER",
        "Nothing says which realtime model runs the agent.",
        "Pass an adapter, or build the agent with s2s_driven_model(provider=…).",
    )


def _outcome(event: ToolFinished) -> Literal["done", "error"]:
    return "done" if event.result.status == "success" else "error"
