"""What all adapters around an official SDK share: loading it, the connection, streaming, abort, faults."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

import structlog

from agents.base.abort import AbortToken
from agents.base.clock import real_time_work
from agents.base.errors import GloveError
from agents.core.events import AgentEvent
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.faults import Account, ModelFault, again, cut_off, unreachable

log = structlog.get_logger(__name__)

MAX_REPLY_BYTES = 32 * 1024 * 1024
"""Most that is read of one reply: whoever sends more is no model."""


class Reply(Protocol):
    """A reply while it arrives: takes what the SDK hands out and says what subscribers should hear of it."""

    @property
    def complete(self) -> bool:
        """Whether the provider said that the reply has ended."""
        ...

    def take(self, event: Any) -> list[AgentEvent]:
        """Add one event of a stream; returns what to notify."""
        ...

    def end(self) -> list[AgentEvent]:
        """What to notify at the end of a stream."""
        ...

    def whole(self, response: Any) -> list[AgentEvent]:
        """Take a reply that was not streamed; returns what to notify."""
        ...

    def result(self) -> ModelResult:
        """The whole reply."""
        ...


class SdkModel(ABC):
    """Base of the ``ModelAdapter`` of a provider with an SDK of its own.

    SDKs take a second or more to import; they are loaded in a thread by ``warm``, or by the first call.

    Args:
        name: what ``name`` says.
        account: whose faults are named.
        stream: whether words arrive as they are written.
        timeout_s: longest time without an event of the reply, in seconds; bytes that make none do not count.
        max_retries: attempts after a refused or failed connection, before anything was said.
    """

    def __init__(self, name: str, account: Account, *, stream: bool, timeout_s: float, max_retries: int) -> None:
        self._name = name
        self._account = account
        self._stream = stream
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._client: Any = None
        self._changing = asyncio.Lock()

    @property
    def name(self) -> str:
        """The provider's id and the model id, for example ``ollama:qwen3``."""
        return self._name

    async def warm(self) -> None:
        """Load the SDK and make the client now, off the loop, so that the first reply does not wait for it."""
        await self._connected()

    async def close(self) -> None:
        """Close connections; the next call opens new ones."""
        async with self._changing:
            client, self._client = self._client, None
            if client is not None:
                await self._disconnect(client)

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``.

        Raises:
            Aborted: at once when ``abort`` fires; the HTTP stream is closed first.
            GloveError: ``ERR_MODEL_AUTH``, ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.
        """
        return await abort.race(self._answer(request, notify))

    @abstractmethod
    async def _connect(self) -> Any:
        """Load the SDK and make a client."""

    async def _disconnect(self, client: Any) -> None:
        await client.close()

    @abstractmethod
    def _wire(self, request: PromptRequest) -> dict[str, Any]:
        """The keyword arguments of one call."""

    @abstractmethod
    def _reply(self, request: PromptRequest) -> Reply:
        """An empty reply to ``request``."""

    @abstractmethod
    async def _call(self, client: Any, wire: dict[str, Any]) -> Any:
        """Send ``wire``; returns a stream of events, or a whole reply."""

    @abstractmethod
    async def _shut(self, stream: Any) -> None:
        """Close a stream and, if it has not ended, the connection under it."""

    @abstractmethod
    def _fault(self, error: Exception) -> ModelFault | None:
        """What an exception of the SDK means; None if it is none of the SDK's."""

    async def _connected(self) -> Any:
        async with self._changing:
            if self._client is None:
                with self._named():
                    self._client = await self._connect()
            return self._client

    async def _answer(self, request: PromptRequest, notify: Notify) -> ModelResult:
        client = await self._connected()
        wire = self._wire(request)
        reply = self._reply(request)
        if self._stream:
            await self._read(client, wire, reply, notify)
        else:
            response = await self._opened(client, wire)
            with self._understood():
                events = reply.whole(response)
            for event in events:
                await notify(event)
        return reply.result()

    async def _read(self, client: Any, wire: dict[str, Any], reply: Reply, notify: Notify) -> None:
        async with contextlib.aclosing(self._events(client, wire)) as events:
            async for event in events:
                with self._understood():
                    told = reply.take(event)
                for one in told:
                    await notify(one)
        if not reply.complete:
            raise cut_off()
        for one in reply.end():
            await notify(one)

    async def _opened(self, client: Any, wire: dict[str, Any]) -> Any:
        """A stream or a whole reply, after further attempts if need be."""

        async def attempt() -> Any:
            async with self._waiting():
                return await self._call(client, wire)

        return await again(attempt, self._max_retries)

    async def _events(self, client: Any, wire: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The stream's events. Virtual time stands still only while the network is waited for."""
        stream = await self._opened(client, wire)
        try:
            events = aiter(stream)
            while True:
                async with self._waiting():
                    event = await anext(events, None)
                if event is None:
                    return
                yield event
        finally:
            with real_time_work():
                await self._shut(stream)

    @contextlib.asynccontextmanager
    async def _waiting(self) -> AsyncGenerator[None]:
        """Around every wait for the server: faults get names, silence ends, virtual time stands still."""
        with self._named(), real_time_work():
            async with asyncio.timeout(self._timeout_s):
                yield

    @contextlib.contextmanager
    def _named(self) -> Generator[None]:
        """Raise exceptions of the SDK and of its transport as ``ModelFault``."""
        fault: ModelFault | None = None
        try:
            yield
        except GloveError:
            raise
        except TimeoutError:
            fault = unreachable(f"The model's server was silent for {self._timeout_s:g} seconds.")
        except Exception as error:
            fault = self._fault(error)
            if fault is None:
                raise
        if fault is not None:
            self._log(fault)
            raise fault from None

    @contextlib.contextmanager
    def _understood(self) -> Generator[None]:
        """Around what reads a provider's objects: they have whatever shape the server gave them."""
        fault: ModelFault | None = None
        try:
            yield
        except (AttributeError, TypeError, LookupError, ValueError) as error:
            fault = unreachable("The model's server sent something that could not be understood.")
            log.warning("strange reply", model=self._name, error=type(error).__name__)
        if fault is not None:
            self._log(fault)
            raise fault from None

    def _log(self, fault: GloveError) -> None:
        log.warning("model call failed", model=self._name, code=fault.code, error=fault.message)
