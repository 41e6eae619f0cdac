"""Runs the tools a model asked for, one after the other, and accounts for every call whatever happens."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from agents.base import clock
from agents.base.abort import Aborted
from agents.core.events import AgentEvent, ToolUseResult
from agents.core.messages import ToolCall, ToolResult, ToolResultData
from agents.core.model import Notify
from agents.core.permissions import Permissions
from agents.core.registry import AnyTool, ToolRegistry
from agents.core.tool import ToolContext
from agents.core.turn import tool_scope

log = structlog.get_logger(__name__)

MAX_RETRIES = 3
"""Further attempts after the first one failed with an exception: four calls in all."""

INPUT_INVALID = "TOOL_INPUT_INVALID"
"""Message of a result whose input did not fit the tool's model; ``data`` says what is wrong."""

ABORTED_BY_USER = "Aborted by the user."
NOT_STARTED = "Aborted by the user before the tool was started."


class Batch:
    """The calls of one model reply and what became of them.

    ``results`` is complete at any time: calls that have no outcome yet appear as aborted.
    """

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = tuple(calls)
        self._done: list[ToolResult] = []

    def add(self, result: ToolResult) -> None:
        """Record the outcome of the next call."""
        self._done.append(result)

    @property
    def results(self) -> list[ToolResult]:
        """One result per call, in order."""
        missing = self.calls[len(self._done) :]
        return [*self._done, *(_result(call, _aborted(NOT_STARTED)) for call in missing)]


class Executor:
    """Executes batches of tool calls.

    It keeps no state between batches, so several can run at the same time (agents that share tools do).

    Args:
        registry: where tools are looked up, again for each call.
        permissions: the gate in front of them.
        max_retries: further attempts after an exception.
    """

    def __init__(self, registry: ToolRegistry, permissions: Permissions, max_retries: int = MAX_RETRIES) -> None:
        self._registry = registry
        self._permissions = permissions
        self._max_retries = max_retries
        self._detached: set[asyncio.Task[Any]] = set()

    async def run(self, batch: Batch, context: ToolContext, notify: Notify) -> None:
        """Execute ``batch`` in order, notifying ``ToolUseResult`` after each call.

        When the turn is aborted while a tool is being waited for, the rest of the batch is not started. The batch then
        holds an aborted result for every call without an outcome. ``Aborted`` is the caller's to raise.
        """
        for call in batch.calls:
            started = clock.now()
            interrupted = False
            try:
                data = await self._execute(call, context)
            except Aborted:
                data, interrupted = _aborted(ABORTED_BY_USER), True
            duration_ms = (clock.now() - started) * 1000
            batch.add(_result(call, data, duration_ms))
            await notify(_event(call, data, duration_ms))
            if interrupted:
                break

    async def _execute(self, call: ToolCall, context: ToolContext) -> ToolResultData:
        """The outcome of one call. Raises ``Aborted`` if the turn was aborted while it ran."""
        tool = self._registry.find(call.tool_name)
        if context.abort.aborted and not (tool is not None and tool.un_abortable):
            return _aborted(NOT_STARTED)
        if tool is None:
            return _error(self._registry.unknown(call.tool_name))
        try:
            verdict = await self._permissions.check(tool, call.input_args, context.display, context.abort)
        except Aborted:
            raise
        except Exception as fault:
            log.exception("permission check failed", tool=tool.name)
            return _error(f"Permission to run {tool.name} could not be established: {_text(fault)}")
        if not verdict.allowed:
            return _error(verdict.reason)
        try:
            arguments = _validated(tool, call.input_args)
        except ValidationError as invalid:
            return ToolResultData(status="error", message=INPUT_INVALID, data=_issues(invalid))
        return await self._attempts(tool, arguments, context)

    async def _attempts(self, tool: AnyTool, arguments: Any, context: ToolContext) -> ToolResultData:
        attempt = 0
        while True:
            try:
                value = await self._once(tool, arguments, context)
            except Exception as fault:
                if context.abort.aborted and not tool.un_abortable:
                    raise Aborted(context.abort.reason or "aborted") from fault
                if attempt == self._max_retries:
                    log.warning("tool failed", tool=tool.name, attempts=attempt + 1, error=repr(fault))
                    return _error(f"{_text(fault)} (after {attempt} retries)" if attempt else _text(fault))
                attempt += 1
            else:
                return await _summarised(tool, _wrapped(value))

    async def _once(self, tool: AnyTool, arguments: Any, context: ToolContext) -> Any:
        """One attempt. An abort ends the waiting at once; the tool's own work is left to notice its token."""
        with tool_scope(None if tool.un_abortable else context.abort):
            task = asyncio.ensure_future(_call(tool, arguments, context))
        try:
            if tool.un_abortable:
                await asyncio.wait({task})
            else:
                await self._until_aborted(task, context)
        except BaseException:
            if not task.done():
                self._detach(task, tool.name)
            raise
        if task.cancelled():
            raise RuntimeError(f"the tool {tool.name} cancelled itself")
        return task.result()

    async def _until_aborted(self, task: asyncio.Task[Any], context: ToolContext) -> None:
        aborted = asyncio.Event()
        remove = context.abort.on_abort(aborted.set)
        watch = asyncio.ensure_future(aborted.wait())
        try:
            await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            remove()
            watch.cancel()
        if not task.done():
            context.abort.check()

    def _detach(self, task: asyncio.Task[Any], name: str) -> None:
        """Let abandoned work run on, but not out of sight."""
        self._detached.add(task)

        def done(finished: asyncio.Task[Any]) -> None:
            self._detached.discard(finished)
            if finished.cancelled():
                return
            fault = finished.exception()
            if fault is not None and not isinstance(fault, Aborted):
                log.warning("tool failed after it was aborted", tool=name, error=repr(fault))

        task.add_done_callback(done)


async def _call(tool: AnyTool, arguments: Any, context: ToolContext) -> Any:
    run: Callable[[Any, ToolContext], Any] = tool.run
    value = run(arguments, context)
    return await value if inspect.isawaitable(value) else value


def _validated(tool: AnyTool, raw_input: Any) -> Any:
    if tool.args is None:
        return raw_input
    model: type[BaseModel] = tool.args
    return model.model_validate({} if raw_input is None else raw_input)


def _issues(invalid: ValidationError) -> str:
    issues = ((".".join(str(step) for step in issue["loc"]), issue["msg"]) for issue in invalid.errors())
    return "\n".join(f"{path or 'input'}: {message}" for path, message in issues)


def _wrapped(value: Any) -> ToolResultData:
    """A tool's return value as a result that any store can keep as JSON."""
    if not isinstance(value, ToolResultData):
        return ToolResultData(data=to_jsonable_python(value, fallback=str))
    plain = {name: to_jsonable_python(getattr(value, name), fallback=str) for name in ("data", "renderData")}
    return value.model_copy(update=plain)


async def _summarised(tool: AnyTool, result: ToolResultData) -> ToolResultData:
    """``result`` with its short form. A generator that fails costs the short form, not the result."""
    if tool.generate_summary is None or result.generateSummaryArgs is None or result.status != "success":
        return result
    try:
        summary = await tool.generate_summary(result.generateSummaryArgs)
    except Exception:
        log.exception("summary of a tool result failed", tool=tool.name)
        return result
    arguments = to_jsonable_python(result.generateSummaryArgs, fallback=str)
    return result.model_copy(update={"summary": summary, "generateSummaryArgs": arguments})


def _error(message: str) -> ToolResultData:
    return ToolResultData(status="error", message=message)


def _aborted(message: str) -> ToolResultData:
    return ToolResultData(status="aborted", message=message)


def _result(call: ToolCall, data: ToolResultData, duration_ms: float | None = None) -> ToolResult:
    return ToolResult(tool_name=call.tool_name, call_id=call.id, result=data, duration_ms=duration_ms)


def _event(call: ToolCall, data: ToolResultData, duration_ms: float) -> AgentEvent:
    return ToolUseResult(call.id, call.tool_name, data, duration_ms)


def _text(fault: BaseException) -> str:
    return str(fault) or type(fault).__name__
