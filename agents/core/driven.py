"""The agent's side of a conversation that a realtime model runs: it hears and speaks by itself, and is not called by
the agent loop.

Such a model is told what the agent is, calls its tools one at a time or several at once, and what was said is written
into the same record that the agent loop reads. So a conversation can change between the two at any moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from agents.base.abort import Aborted, AbortToken
from agents.core.arrivals import Arrivals
from agents.core.executor import Batch
from agents.core.messages import Message, TokenUsage, ToolCall, ToolResult
from agents.core.model import Notify, ToolSpec
from agents.core.outcomes import NOT_STARTED, aborted, result_of
from agents.core.registry import ToolRegistry
from agents.core.tool import ToolContext
from agents.core.turn import Turn, running

if TYPE_CHECKING:
    from agents.core.assembly import Core
    from agents.core.glove import Glove

Floor = Callable[[AbortToken], AbstractAsyncContextManager[None]]


class Driven:
    """What a realtime model has of an agent. ``Glove.driven`` makes it; there is one per conversation.

    Args:
        glove: the agent.
        core: its inside.
        registry: its tools.
        arrivals: events from outside that wait for it.
        floor: holds off turns of the agent loop.
        notify: tells the agent's subscribers.
    """

    def __init__(
        self, glove: Glove, core: Core, registry: ToolRegistry, arrivals: Arrivals, floor: Floor, notify: Notify
    ) -> None:
        self._glove = glove
        self._core = core
        self._registry = registry
        self._arrivals = arrivals
        self._notify = notify
        self._hold = _SharedFloor(floor)
        self._under_way: dict[asyncio.Future[None], bool] = {}

    @property
    def identifier(self) -> str:
        """Of the conversation."""
        return self._core.context.store.identifier

    @property
    def instructions(self) -> str:
        """The stable instructions in force."""
        return self._glove.system_prompt

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What may be called now, in order of registration."""
        return self._registry.specs

    async def history(self) -> list[Message]:
        """The conversation as a model should see it: since the last summary, without what nobody heard.

        Raises faults of the store.
        """
        await self._core.recover()
        return await self._core.context.messages()

    async def keep(self, messages: Sequence[Message]) -> None:
        """Write ``messages`` at the end of the record, together. Raises faults of the store."""
        await self._core.context.append(messages)

    async def keep_reply(self, message: Message, *, reported: bool) -> None:
        """Write a spoken reply, which has an id. With ``reported`` a ``report_heard`` will follow.

        Raises faults of the store.
        """
        self._core.ledger.open(message.id or "")
        await self._core.ledger.keep(message, lambda: self._core.context.append([message]), expect_report=reported)

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> bool:
        """What was heard of a reply; see ``Glove.report_heard``."""
        return await self._core.ledger.report(reply_id, text, complete)

    async def count(self, usage: TokenUsage) -> None:
        """Count one answer of the model. Raises faults of the store."""
        await self._core.observer.count(usage)

    async def run(self, call: ToolCall, abort: AbortToken, *, language: str | None = None) -> ToolResult:
        """Run a tool: permission, validation, attempts and limits are as in the agent loop. Nothing is written.

        Calls run in the order in which they come, except that neighbours which are all ``parallel`` run at the same
        time. Turns of the agent loop wait meanwhile. Never raises for the tool: an aborted call has a result, too.
        """
        tool = self._registry.find(call.tool_name)
        parallel = tool is not None and tool.parallel
        before = [done for done, beside in self._under_way.items() if not (parallel and beside)]
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way[finished] = parallel
        batch = Batch([call])
        try:
            if before:
                await abort.race(asyncio.ensure_future(_all(before)))
            async with self._hold(abort):
                turn = Turn(self._glove, abort, language, acting=True)
                with running(turn):
                    context = ToolContext(self._glove.display, self._glove, abort, language or "en")
                    await self._core.executor.run(batch, context, self._notify)
        except Aborted:
            return result_of(call, aborted(NOT_STARTED))
        finally:
            del self._under_way[finished]
            finished.set_result(None)
        return batch.results[0]

    async def has_news(self) -> bool:
        """Whether events from outside wait to be told."""
        return await self._arrivals.waiting()

    @contextlib.asynccontextmanager
    async def news(self) -> AsyncGenerator[list[Message]]:
        """The message about all events that wait, or none. They count as told when the block ends without a fault."""
        async with self._hold(AbortToken()), self._arrivals.telling() as messages:
            yield messages


async def _all(futures: Sequence[asyncio.Future[None]]) -> None:
    await asyncio.wait(futures)


class _SharedFloor:
    """The floor, held together by all who run tools at the same time."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._holders = 0
        self._door = asyncio.Lock()
        self._stack = contextlib.AsyncExitStack()

    @contextlib.asynccontextmanager
    async def __call__(self, abort: AbortToken) -> AsyncGenerator[None]:
        async with self._door:
            if self._holders == 0:
                await self._stack.enter_async_context(self._floor(abort))
            self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                held, self._stack = self._stack, contextlib.AsyncExitStack()
                await held.aclose()
