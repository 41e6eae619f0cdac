"""The model proxy: one POST is one model call, streamed; the key stays on the server and the tools with the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import structlog
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agents.base.abort import Aborted, AbortToken
from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from agents.core.events import AgentEvent, ModelProgress, ModelResponse, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult
from agents.core.model import ConnectedModel, ModelAdapter, PromptRequest, ToolSpec
from agents.models.anthropic_request import CacheTtl
from agents.models.openai_request import Effort, Reasoning
from agents.models.providers import create_adapter
from agents.web.bodies import MAX_BODY_BYTES, Body, read_body
from agents.web.gate import Endpoint
from agents.web.refusals import internal
from agents.web.sse import HEARTBEAT_S, EventStream
from agents.web.wire import Event, done_event, one_message

log = structlog.get_logger(__name__)

WAITING_EVENTS = 64
"""Events that may wait for a slow reader; then the provider waits too."""


class OfferedTool(Body):
    """A tool of the caller; ``parameters`` is JSON Schema."""

    name: str = Field(min_length=1, max_length=128)
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict[str, Any])

    def spec(self) -> ToolSpec:
        """As a model adapter takes it."""
        return ToolSpec(self.name, self.description, self.parameters)


class ChatRequest(Body):
    """What the caller sends."""

    systemPrompt: str
    messages: list[Message]
    tools: list[OfferedTool] = Field(default_factory=list[OfferedTool])

    def prompt(self) -> PromptRequest:
        """As a model adapter takes it."""
        return PromptRequest(self.systemPrompt, self.messages, [tool.spec() for tool in self.tools])


class ChatHandler:
    """An ASGI application that answers ``ChatRequest``s with server-sent events.

    It admits everybody: ``web_routes`` puts a gate in front of it.

    Args:
        open_model: gives the model, at every request; a ``GloveError`` becomes an HTTP status.
        close: closes what ``open_model`` has opened.
        max_body_bytes: longest request.
        heartbeat_s: silence that a comment ends, in seconds.
    """

    def __init__(
        self,
        open_model: Callable[[], ModelAdapter],
        *,
        close: Callable[[], Awaitable[None]] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._close = close
        self._open_model = open_model
        self._max_body_bytes = max_body_bytes
        self._heartbeat_s = heartbeat_s
        self._endpoint = Endpoint(self._answer, "POST")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._endpoint(scope, receive, send)

    async def close(self) -> None:
        """Close the model's connections; a later request opens new ones."""
        if self._close is not None:
            await self._close()

    async def _answer(self, request: Request) -> Response:
        chat = await read_body(request, ChatRequest, self._max_body_bytes)
        return EventStream(relayed(self._open_model(), chat.prompt()), heartbeat_s=self._heartbeat_s)


def create_chat_handler(
    provider: str,
    model: str | None = None,
    api_key: str | None = None,
    *,
    max_tokens: int | None = None,
    base_url: str | None = None,
    include_reasoning_in_text: bool | None = None,
    reasoning_effort: Effort | None = None,
    reasoning: bool | Reasoning | None = None,
    cache: bool | CacheTtl | None = None,
    credentials: Credentials | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    heartbeat_s: float = HEARTBEAT_S,
) -> ChatHandler:
    """A model proxy for ``provider``; see ``create_adapter`` for the settings.

    The key is looked up at the first request that finds one, so that a server starts without it.

    Raises:
        ConfigError: an unknown or unusable provider, no model, no address.
    """

    def adapter(key: str | None) -> ModelAdapter:
        return create_adapter(
            provider,
            model,
            key,
            base_url,
            max_tokens=max_tokens,
            reasoning=reasoning,
            reasoning_effort=reasoning_effort,
            include_reasoning_in_text=include_reasoning_in_text,
            cache=cache,
            credentials=credentials,
        )

    try:
        adapter(api_key)
    except ConfigError as fault:
        if fault.code != "ERR_CREDENTIALS_MISSING":
            raise
        # With any key at hand only mistakes in the settings are left to find.
        adapter("to be looked up")
    late = _LateModel(lambda: adapter(api_key))
    return ChatHandler(late.get, close=late.close, max_body_bytes=max_body_bytes, heartbeat_s=heartbeat_s)


class _LateModel:
    """A model that is made when it is first needed."""

    def __init__(self, make: Callable[[], ModelAdapter]) -> None:
        self._make = make
        self._model: ModelAdapter | None = None

    def get(self) -> ModelAdapter:
        if self._model is None:
            self._model = self._make()
        return self._model

    async def close(self) -> None:
        if isinstance(self._model, ConnectedModel):
            await self._model.close()


async def relayed(model: ModelAdapter, request: PromptRequest) -> AsyncGenerator[Event | None]:
    """The events of one model call; closing the generator stops the call.

    Yields None where the provider has answered with nothing to tell yet. Ends with ``done``.

    Raises:
        GloveError: the call failed.
    """
    told: asyncio.Queue[Event | GloveError | None] = asyncio.Queue(WAITING_EVENTS)
    abort = AbortToken()
    call = asyncio.create_task(_call(model, request, told, abort), name="proxied model call")
    try:
        while True:
            event = await told.get()
            if isinstance(event, GloveError):
                raise event
            yield event
            if event is not None and event["type"] == "done":
                return
    finally:
        abort.abort("the caller left")
        call.cancel()
        await asyncio.wait({call})


async def _call(
    model: ModelAdapter, request: PromptRequest, told: asyncio.Queue[Event | GloveError | None], abort: AbortToken
) -> None:
    async def notify(event: AgentEvent) -> None:
        for line in _lines(event):
            await told.put(line)

    try:
        await told.put(_end(await model.prompt(request, notify, abort)))
    except Aborted:
        log.debug("a proxied model call was stopped", model=model.name)
    except GloveError as fault:
        await told.put(fault)
    except Exception:
        log.exception("a proxied model call failed", model=model.name)
        await told.put(internal())


def _lines(event: AgentEvent) -> list[Event | None]:
    match event:
        case TextDelta():
            return [{"type": event.type, "text": event.text}]
        case ToolUse():
            return [_tool_use(event.id, event.name, event.input)]
        case ModelResponse():
            text: list[Event | None] = [{"type": TextDelta.type, "text": event.text}] if event.text else []
            return [*text, *(_tool_use(call.id or "", call.tool_name, call.input_args) for call in event.tool_calls)]
        case ModelProgress():
            return [None]
        case _:
            return []


def _tool_use(call_id: str, name: str, arguments: Any) -> Event:
    return {"type": ToolUse.type, "id": call_id, "name": name, "input": arguments}


def _end(result: ModelResult) -> Event:
    return done_event(one_message(result.messages), result.usage, result.stop_reason)
