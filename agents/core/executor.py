"""Runs the tools a model asked for, in order, and accounts for every call whatever happens."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from pydantic import BaseModel, ValidationError

from agents.base import clock
from agents.base.abort import Aborted, let_go
from agents.core.display import QuestionClosed
from agents.core.events import ToolUseResult
from agents.core.messages import ToolCall, ToolResult, ToolResultData, copied
from agents.core.model import Notify
from agents.core.outcomes import (
    ABORTED_BY_USER,
    NOT_STARTED,
    UNFINISHED,
    aborted,
    failed,
    invalid_input,
    result_of,
    summarised,
    text_of,
    wrapped,
)
from agents.core.permissions import Permissions
from agents.core.registry import AnyTool, ToolRegistry
from agents.core.tool import ToolContext
from agents.core.turn import tool_scope

log = structlog.get_logger(__name__)

MAX_RETRIES = 3
"""Further attempts after the first one failed with an exception: four calls in all."""


class Batch:
    """The calls of one model reply and what became of them.

    ``results`` is complete at any time: calls that have no outcome yet appear as aborted.
    """

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = tuple(calls)
        self._started: set[int] = set()
        self._done: dict[int, ToolResult] = {}

    def start(self, index: int) -> None:
        """Note that the tool of call number ``index`` may have taken effect from now on."""
        self._started.add(index)

    def finish(self, index: int, result: ToolResult) -> None:
        """Record the outcome of call number ``index``."""
        self._done[index] = result

    @property
    def results(self) -> list[ToolResult]:
        """One result per call, in the order of the calls."""
        return [self._done.get(index) or self._missing(index) for index in range(len(self.calls))]

    def _missing(self, index: int) -> ToolResult:
        return result_of(self.calls[index], aborted(UNFINISHED if index in self._started else NOT_STARTED))


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

    async def run(self, batch: Batch, context: ToolContext, notify: Notify) -> None:
        """Execute ``batch`` in order, notifying ``ToolUseResult`` after each call.

        Neighbouring calls whose tools are all ``parallel`` run at the same time: permissions are asked for one after
        the other before they start, and they are notified as they end. When the turn is aborted while tools are being
        waited for, the rest of the batch is not started. The batch then holds an aborted result for every call without
        an outcome. ``Aborted`` is the caller's to raise.
        """
        for group in self._groups(batch.calls):
            running = [Running(batch, index, context, notify) for index in group]
            admitted = [call for call in running if await self._admit(call)]
            await _together([self._execute(call) for call in admitted])
            if any(call.interrupted for call in running):
                break

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[int]]:
        """Numbers of the calls, those that run at the same time together."""
        groups: list[list[int]] = []
        beside = False
        for index, call in enumerate(calls):
            tool = self._registry.find(call.tool_name)
            parallel = tool is not None and tool.parallel
            if parallel and beside:
                groups[-1].append(index)
            else:
                groups.append([index])
            beside = parallel
        return groups

    async def _admit(self, call: Running) -> bool:
        """Find the tool of one call and ask whether it may run; a call that may not has its outcome then."""
        try:
            refusal = await self._refusal(call)
        except Aborted:
            call.interrupted = True
            refusal = aborted(ABORTED_BY_USER)
        if refusal is not None:
            await call.end(refusal)
        return refusal is None

    async def _refusal(self, call: Running) -> ToolResultData | None:
        tool, context = self._registry.find(call.tool_name), call.context
        if context.abort.aborted and not (tool is not None and tool.un_abortable):
            return aborted(NOT_STARTED)
        if tool is None:
            return failed(self._registry.unknown(call.tool_name))
        call.tool = tool
        try:
            verdict = await self._permissions.check(
                tool, call.raw_input(), context.display, context.abort, context.language
            )
        except Aborted:
            raise
        except Exception as fault:
            log.exception("permission check failed", tool=tool.name)
            return failed(f"Permission to run {tool.name} could not be established: {text_of(fault)}")
        if not verdict.allowed:
            return failed(verdict.reason).model_copy(update={"speech": verdict.speech})
        try:
            call.arguments()
        except ValidationError as invalid:
            return invalid_input(invalid)
        return None

    async def _execute(self, call: Running) -> None:
        outcome = aborted(UNFINISHED)
        try:
            await call.open()
            outcome = await self._attempts(call)
        except Aborted:
            call.interrupted = True
            outcome = aborted(ABORTED_BY_USER)
        finally:
            await call.close(outcome)
        await call.end(outcome)

    async def _attempts(self, call: Running) -> ToolResultData:
        tool, abort, attempt = call.tool, call.context.abort, 0
        while True:
            try:
                value = await self._once(call)
            except (ToolTooSlow, QuestionClosed) as fault:
                return failed(str(fault))
            except Exception as fault:
                if abort.aborted and not tool.un_abortable:
                    raise Aborted(abort.reason or "aborted") from fault
                if attempt == self._max_retries:
                    log.warning("tool failed", tool=tool.name, attempts=attempt + 1, error=repr(fault))
                    return failed(f"{text_of(fault)} (after {attempt} retries)" if attempt else text_of(fault))
                attempt += 1
            else:
                return await summarised(tool, wrapped(tool, value))

    async def _once(self, call: Running) -> Any:
        """One attempt. An abort ends the waiting at once; the tool's own work is left to notice its token."""
        tool, context = call.tool, call.context
        call.start()
        with tool_scope(None if tool.un_abortable else context.abort):
            task = asyncio.ensure_future(_call(tool, call.arguments(), context))
        try:
            async with asyncio.timeout(tool.time_limit_s):
                if tool.un_abortable:
                    await asyncio.wait({task})
                else:
                    await _until_aborted(task, context, tool.settle_s)
        except TimeoutError:
            if not task.done():
                task.cancel()
                let_go(task, f"the tool {tool.name}")
                raise ToolTooSlow(f"{tool.name} did not end within {tool.time_limit_s} s and was stopped.") from None
        except BaseException:
            if not task.done():
                let_go(task, f"the tool {tool.name}")
            raise
        if task.cancelled():
            raise RuntimeError(f"the tool {tool.name} cancelled itself")
        return task.result()


class Running:
    """One call on its way: where it stands in its batch, and what it may reach.

    ``tool`` is set once the call was admitted; ``interrupted`` says that the user stopped it.
    """

    tool: AnyTool

    def __init__(self, batch: Batch, index: int, context: ToolContext, notify: Notify) -> None:
        self.context = context
        self.interrupted = False
        self._batch = batch
        self._index = index
        self._call = batch.calls[index]
        self._notify = notify
        self._since_s = clock.now()
        self._opened = False

    @property
    def tool_name(self) -> str:
        """The name as the model wrote it."""
        return self._call.tool_name

    def raw_input(self) -> Any:
        """The model's input, a fresh copy each time, so that nobody's changes are seen by anybody else."""
        return copied(self._call.input_args)

    def arguments(self) -> Any:
        """The input as the tool wants it, a fresh one for each attempt. Raises ``ValidationError``."""
        if self.tool.args is None:
            return self.raw_input()
        model: type[BaseModel] = self.tool.args
        return model.model_validate({} if self._call.input_args is None else self.raw_input())

    async def open(self) -> None:
        """Tell what the tool wants to be told before it runs."""
        if self.tool.bracket is not None:
            self._opened = True
            await self._notify(self.tool.bracket.opened(self.arguments()))

    async def close(self, outcome: ToolResultData) -> None:
        """Tell what belongs to it, if it was opened."""
        if self.tool.bracket is not None and self._opened:
            await self._notify(self.tool.bracket.closed(self.arguments(), outcome))

    def start(self) -> None:
        """The tool is about to be called."""
        self._batch.start(self._index)

    async def end(self, outcome: ToolResultData) -> None:
        """Record the outcome and tell about it."""
        duration_ms = (clock.now() - self._since_s) * 1000
        call = self._call
        self._batch.finish(self._index, result_of(call, outcome, duration_ms))
        await self._notify(ToolUseResult(call.id, call.tool_name, outcome, duration_ms))


class ToolTooSlow(Exception):
    """A tool used up its ``time_limit_s``; trying again would take as long."""


class ToolCrashed(Exception):
    """A tool raised what was meant to end the program, or another exception that is no ``Exception``."""


async def _together(work: Sequence[Any]) -> None:
    """Await all of ``work`` at the same time; a single piece in the caller's own task."""
    if len(work) == 1:
        await work[0]
        return
    async with asyncio.TaskGroup() as group:
        for piece in work:
            group.create_task(piece)


async def _until_aborted(task: asyncio.Task[Any], context: ToolContext, settle_s: float) -> None:
    aborted_now = asyncio.Event()
    remove = context.abort.on_abort(aborted_now.set)
    watch = asyncio.ensure_future(aborted_now.wait())
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        remove()
        watch.cancel()
    if settle_s and not task.done():
        await asyncio.wait({task}, timeout=settle_s)
    if not task.done():
        context.abort.check()


async def _call(tool: AnyTool, arguments: Any, context: ToolContext) -> Any:
    run: Callable[[Any, ToolContext], Any] = tool.run
    try:
        value = run(arguments, context)
        return await value if inspect.isawaitable(value) else value
    except (Exception, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as fault:
        raise ToolCrashed(f"the tool {tool.name} raised {type(fault).__name__}: {text_of(fault)}") from fault
