"""Subagents: agents with a conversation of their own that the model gives a piece of work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from pydantic import BaseModel, Field

from agents.base.abort import SETTLE_S, Aborted, AbortToken, let_go
from agents.core.events import AgentEvent, SubagentCompleted, SubagentInvoked, Subscriber
from agents.core.extensions.controls import AgentControls
from agents.core.extensions.naming import check_name
from agents.core.extensions.relay import Relay
from agents.core.foreign import call
from agents.core.messages import Message, ToolResultData
from agents.core.model import Notify
from agents.core.outcomes import failed, text_of
from agents.core.store import StoreAdapter
from agents.core.tool import Tool, ToolContext
from agents.core.turn import depth

log = structlog.get_logger(__name__)

INVOKE_SUBAGENT = "glove_invoke_subagent"

MAX_DEPTH = 8
"""How deep agents may call each other: one that calls its own kind would never come to an end."""


class SubAgent(Protocol):
    """What a factory returns; a built ``Glove`` is one."""

    def process_request(
        self, request: str, abort: AbortToken | None = None, *, language: str | None = None
    ) -> Awaitable[Message]:
        """Do the work. Returns the last agent message; raises what a turn raises."""
        ...

    def add_subscriber(self, subscriber: Subscriber) -> object:
        """Send events to ``subscriber``."""
        ...

    def remove_subscriber(self, subscriber: Subscriber) -> object:
        """Send no more events to ``subscriber``."""
        ...


@dataclass(frozen=True)
class SubAgentRequest:
    """For whom a subagent is made.

    Attributes:
        name: under which its factory is registered.
        prompt: what it will be asked. It sees nothing else of the parent's conversation.
        parent_store: where a store for it comes from: ``await parent_store.create_sub_agent_store(name, durable)``.
        parent_controls: the inside of the parent.
    """

    name: str
    prompt: str
    parent_store: StoreAdapter
    parent_controls: AgentControls


SubAgentFactory = Callable[[SubAgentRequest], Awaitable[SubAgent] | SubAgent]


@dataclass(frozen=True)
class SubAgentKind:
    """A registered maker of subagents."""

    name: str
    factory: SubAgentFactory
    description: str | None = None


class SubAgentCall(BaseModel):
    """Arguments of the tool with which the model calls a subagent."""

    name: str = Field(min_length=1, description="Name of the subagent.")
    prompt: str = Field(min_length=1, description="The whole task. It knows nothing of this conversation.")


class SubAgentBracket:
    """The two events around a subagent's run."""

    def opened(self, arguments: SubAgentCall) -> AgentEvent:
        """It is about to be made."""
        return SubagentInvoked(arguments.name, arguments.prompt)

    def closed(self, arguments: SubAgentCall, outcome: ToolResultData) -> AgentEvent:
        """It is done, whatever came of it."""
        if outcome.status == "success":
            return SubagentCompleted(arguments.name, "success")
        return SubagentCompleted(arguments.name, "error", outcome.message)


class SubAgents:
    """The subagents of one agent.

    Args:
        controls: the inside of the agent, once it is built.
        notify: tells its subscribers.
    """

    def __init__(self, controls: Callable[[], AgentControls], notify: Notify) -> None:
        self._kinds: dict[str, SubAgentKind] = {}
        self._controls = controls
        self._notify = notify

    def define(self, kind: SubAgentKind) -> None:
        """Register ``kind``, in the place of an earlier one of that name. Raises ``GloveError`` for the name."""
        check_name(kind.name)
        self._kinds[kind.name] = kind

    def tool(self) -> Tool[Any]:
        """The tool with which the model calls them, described as of now."""
        lines = ["Give a piece of work to another agent and get its answer back. There are:"]
        lines += [f"- {kind.name}: {kind.description or kind.name}" for kind in self._kinds.values()]
        return Tool(
            INVOKE_SUBAGENT,
            "\n".join(lines),
            self._call,
            SubAgentCall,
            bracket=SubAgentBracket(),
            settle_s=2 * SETTLE_S,
        )

    async def _call(self, args: SubAgentCall, context: ToolContext) -> ToolResultData:
        kind = self._kinds.get(args.name)
        if kind is None:
            return failed(f"There is no subagent named {args.name!r}. Subagents: {', '.join(self._kinds)}.")
        if depth() > MAX_DEPTH:
            log.warning("subagents are nested too deep", subagent=args.name, limit=MAX_DEPTH)
            return failed(f"Subagents may call each other {MAX_DEPTH} deep and no deeper. Do this work yourself.")
        controls = self._controls()
        request = SubAgentRequest(args.name, args.prompt, controls.store, controls)
        try:
            what = f"The factory of the subagent {args.name!r}"
            child = await call(lambda _: kind.factory(request), context.abort, what)
        except Exception as fault:
            # Neither is tried again by itself: half of the work may be done.
            context.abort.check()
            log.exception("a subagent could not be made", subagent=args.name)
            return failed(f"The factory of the subagent {args.name!r} threw: {text_of(fault)}")
        if not _is_agent(child):
            made = type(child).__name__
            log.error("a subagent's factory made no agent", subagent=args.name, made=made)
            return failed(f"The factory of the subagent {args.name!r} made no agent, but a value of type {made}.")
        relay = Relay(self._notify)
        child.add_subscriber(relay)
        try:
            reply = await self._work(child, args, context)
        except Exception as fault:
            context.abort.check()
            log.exception("a subagent failed", subagent=args.name)
            return failed(f"The subagent {args.name!r} failed: {text_of(fault)}")
        finally:
            child.remove_subscriber(relay)
            await relay.close()
        content = reply.text.strip() or f"[The subagent {args.name} said nothing.]"
        return ToolResultData(data={"subagent": args.name, "content": content})

    async def _work(self, child: SubAgent, args: SubAgentCall, context: ToolContext) -> Message:
        """The child's answer. After an abort it is waited for only a little longer."""
        work = asyncio.ensure_future(child.process_request(args.prompt, context.abort, language=context.language))
        try:
            await context.abort.race(asyncio.wait({work}))
        except Aborted:
            await asyncio.wait({work}, timeout=SETTLE_S)
            if not work.done():
                raise
        finally:
            if not work.done():
                let_go(work, f"the subagent {args.name}")
        return work.result()


def _is_agent(made: object) -> bool:
    """Whether what a factory returned can be used as a ``SubAgent``."""
    return all(
        callable(getattr(made, name, None)) for name in ("process_request", "add_subscriber", "remove_subscriber")
    )
