"""Tool calls of a realtime model. Each is answered whatever happens: a model that waits for a result is silent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from agents.base.abort import AbortToken
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.core.driven import Driven
from agents.core.messages import ToolCall, ToolResult, ToolResultData
from agents.core.outcomes import INPUT_INVALID, failed, result_of, text_of
from realtime.agent_events import AgentFault, ToolFinished, ToolStarted
from realtime.link import SessionLink
from realtime.replay import for_model
from realtime.s2s import events
from realtime.s2s.contract import S2SAdapter
from realtime.transcript import Transcript

log = structlog.get_logger(__name__)

LIMIT_S = 120.0
"""Longest time that a model waits for one tool, in seconds; questions to the user have limits of their own within."""


@dataclass(eq=False)
class Running:
    """A call that is being run, and the session that waits for it."""

    call_id: str
    name: str
    adapter: S2SAdapter
    abort: AbortToken = field(default_factory=AbortToken)
    unwanted: bool = False


class ToolCalls:
    """Runs what the model calls.

    Args:
        link: whom the results go to.
        record: gives the agent's side of the conversation.
        transcript: where calls and results are kept.
        emitter: emits ``ToolStarted``, ``ToolFinished`` and ``AgentFault``.
        exposed: whether a tool is offered to this model.
        asking: whether the user is being asked something right now.
        language: of the conversation (BCP-47 primary tag).
        limit_s: longest time for one tool.
    """

    def __init__(
        self,
        link: SessionLink,
        record: Callable[[], Awaitable[Driven]],
        transcript: Transcript,
        emitter: Emitter,
        *,
        exposed: Callable[[str], bool],
        asking: Callable[[], bool],
        language: Callable[[], str],
        limit_s: float = LIMIT_S,
    ) -> None:
        self._link = link
        self._record = record
        self._transcript = transcript
        self._emitter = emitter
        self._exposed = exposed
        self._asking = asking
        self._language = language
        self._limit_s = limit_s
        self._running: dict[str, Running] = {}
        self._scope = Scope("tool calls")

    @property
    def busy(self) -> bool:
        """Whether a tool is running."""
        return bool(self._running)

    def called(self, event: events.ToolCall) -> None:
        """The model calls a tool."""
        running = Running(event.call_id, event.name, self._link.adapter)
        self._running[event.call_id] = running
        call = ToolCall(tool_name=event.name, id=event.call_id)
        self._scope.spawn(self._answer(running, call, event.arguments), "call")

    def cancelled(self, event: events.ToolCallsCancelled) -> None:
        """The provider does not want these results any more. A tool that asks the user goes on: they are answering."""
        for call_id in event.call_ids:
            running = self._running.get(call_id)
            if running is None:
                continue
            running.unwanted = True
            if not self._asking():
                running.abort.abort("the provider took the call back")

    async def close(self) -> None:
        """Stop what is running; idempotent."""
        for running in self._running.values():
            running.abort.abort("the session ends")
        await self._scope.close()

    async def _answer(self, running: Running, call: ToolCall, arguments: str) -> None:
        done = self._transcript.called(call)
        result = result_of(call, failed("The tool was stopped."))
        try:
            result = await self._result(running, call, arguments)
        except Exception as fault:
            log.exception("a tool call failed", tool=call.tool_name)
            result = result_of(call, failed(text_of(fault)))
            error = fault if isinstance(fault, GloveError) else GloveError("ERR_TOOL_FAILED", text_of(fault))
            self._emitter.emit(AgentFault(error))
        finally:
            self._running.pop(call.id or "", None)
            done(result)
            self._tell(running, result)
        self._emitter.emit(ToolFinished(call.tool_name, result.result))

    async def _result(self, running: Running, call: ToolCall, arguments: str) -> ToolResult:
        record = await self._record()
        known = {tool.name.casefold() for tool in record.tools}
        if call.tool_name.casefold() not in known or not self._exposed(call.tool_name):
            return result_of(call, _refused(f"Unknown tool: {call.tool_name}"))
        try:
            call.input_args = _parsed(arguments)
        except ValueError:
            return result_of(call, _refused("Arguments were not valid JSON."))
        self._emitter.emit(ToolStarted(call.tool_name, call.input_args))
        limit = asyncio.get_running_loop().call_later(self._limit_s, running.abort.abort, "it took too long")
        try:
            result = await record.run(call, running.abort, language=self._language())
        finally:
            limit.cancel()
        if running.abort.reason == "it took too long":
            return result_of(call, failed(f"{call.tool_name} did not end within {self._limit_s:g} s and was stopped."))
        if result.result.message == INPUT_INVALID:
            return result_of(call, _refused(f"Invalid arguments: {result.result.data}"))
        return result

    def _tell(self, running: Running, result: ToolResult) -> None:
        """Give the model its result: the session that asked, or the one that has taken its place."""
        if self._link.adapter is running.adapter and self._link.stands and not running.unwanted:
            self._link.adapter.send_tool_result(running.call_id, for_model(result))
        elif running.unwanted and running.abort.aborted:
            log.info("result not wanted any more", tool=running.name)
        else:
            told = json.dumps(for_model(result), ensure_ascii=False)
            self._link.inject(f"[The tool {running.name}, which you have called, gave: {told}]", respond=True)


def _parsed(arguments: str) -> Any:
    value = json.loads(arguments) if arguments.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value  # pyright: ignore[reportUnknownVariableType]


def _refused(message: str) -> ToolResultData:
    return ToolResultData(status="error", message=message)
