"""What the tests of the core share: tools, and conversations as lines of text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent, TextDelta
from agents.core.messages import Message
from agents.core.store import StoreAdapter
from agents.core.tool import Tool, ToolContext
from agents.testing.subscriber import RecordingSubscriber as Ear


class Where(BaseModel):
    place: str


def tool(name: str, run: Callable[[Any, ToolContext], Awaitable[Any]], **fields: Any) -> Tool[Any]:
    given = {"json_schema": {"type": "object"}, **fields} if "args" not in fields else fields
    return Tool(name, f"Does {name}.", run, **given)


def returning(value: Any) -> Callable[[Any, ToolContext], Awaitable[Any]]:
    async def run(_: Any, __: ToolContext) -> Any:
        return value

    return run


async def story(store: StoreAdapter) -> list[str]:
    """The stored conversation, a line per message."""
    return [line(message) for message in await store.get_messages()]


def line(message: Message) -> str:
    if message.tool_results:
        told = ", ".join(f"{r.tool_name}={r.result.status}" for r in message.tool_results)
        return f"results: {told}"
    calls = "".join(f" +{call.tool_name}" for call in message.tool_calls or ())
    heard = f" ({message.heard})" if message.heard else ""
    return f"{message.sender}: {message.text}{calls}{heard}"


def sent(request_messages: Any) -> list[str]:
    return [line(message) for message in request_messages]


def abort_at(delta: int, abort: AbortToken) -> Ear:
    """A subscriber that aborts the turn when it hears delta number ``delta``, counted from one."""
    heard = 0

    def on_event(event: AgentEvent) -> None:
        nonlocal heard
        if isinstance(event, TextDelta):
            heard += 1
            if heard == delta:
                abort.abort()

    return Ear(on_event)
