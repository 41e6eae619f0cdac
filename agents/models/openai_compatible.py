"""Any server that speaks OpenAI's Chat Completions, through the official SDK: providers by key, and servers nearby."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import ipaddress
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

from agents.base.abort import AbortToken
from agents.base.clock import real_time_work
from agents.base.errors import GloveError
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.anthropic_request import CacheTtl
from agents.models.openai_request import Dialect, Reasoning, build
from agents.models.openai_stream import ReplyBuilder
from agents.models.sdk_faults import SdkFaults, again, unreachable

DEFAULT_MAX_TOKENS = 4096

NO_KEY = "not-needed"
"""Sent where a server wants no key: the SDK insists on one."""


class OpenAiCompatibleModel:
    """A ``ModelAdapter`` for the Chat Completions format.

    The SDK takes a second or more to import and is loaded in a thread by ``warm``, or by the first call. Calls to this
    machine never go through a proxy.

    Args:
        model: model id.
        api_key: secret, never part of an error or a log line; None for a server that wants none.
        base_url: address of the API, with its version (``…/v1``).
        dialect: what is special about the provider.
        max_tokens: longest reply, in tokens.
        stream: whether words arrive as they are written.
        reasoning: True captures thoughts and sends them back; False ignores them.
        cache: whether marks for the prompt cache are sent, where the provider reads them; True means 5 minutes.
        timeout_s: longest silence of the server, in seconds.
        max_retries: attempts after a refused or failed connection, before anything was said.
        key_name: environment variable that the key comes from, for remedies.
    """

    def __init__(
        self,
        model: str,
        api_key: str | None = None,
        *,
        base_url: str,
        dialect: Dialect | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        stream: bool = True,
        reasoning: bool | Reasoning = False,
        cache: bool | CacheTtl = False,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        key_name: str = "the key",
    ) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._dialect = dialect or Dialect()
        self._max_tokens = max_tokens
        self._stream = stream
        self._reasoning = (Reasoning() if reasoning else None) if isinstance(reasoning, bool) else reasoning
        self._cache: CacheTtl | None = ("5m" if cache else None) if isinstance(cache, bool) else cache
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._faults = SdkFaults(self.name, self._dialect.provider, key_name, api_key)
        self._sdk: Any = None
        self._client: Any = None
        self._warming = asyncio.Lock()

    @property
    def name(self) -> str:
        """The provider's id and the model id, for example ``ollama:qwen3``."""
        return f"{self._dialect.provider}:{self._model}"

    async def warm(self) -> None:
        """Load the SDK and make the client now, off the loop, so that the first reply does not wait for it."""
        async with self._warming:
            if self._client is not None:
                return
            self._sdk = await asyncio.get_running_loop().run_in_executor(None, importlib.import_module, "openai")
            options: dict[str, Any] = {"timeout": self._timeout_s, "max_retries": 0}
            if is_loopback(self._base_url):
                options["http_client"] = self._sdk.DefaultAsyncHttpxClient(trust_env=False)
            self._client = self._sdk.AsyncOpenAI(api_key=self._api_key or NO_KEY, base_url=self._base_url, **options)
            if self._dialect.provider != "openai":
                # The SDK reads them from the environment; they are nobody else's business.
                self._client.organization = self._client.project = None

    async def close(self) -> None:
        """Close connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``.

        Raises:
            Aborted: at once when ``abort`` fires; the HTTP stream is closed first.
            GloveError: ``ERR_MODEL_AUTH``, ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.
        """
        return await abort.race(self._answer(request, notify))

    async def _answer(self, request: PromptRequest, notify: Notify) -> ModelResult:
        await self.warm()
        wire = build(
            request,
            model=self._model,
            max_tokens=self._max_tokens,
            dialect=self._dialect,
            stream=self._stream,
            reasoning=self._reasoning,
            cache=self._cache,
        )
        reasoning = self._reasoning
        reply = ReplyBuilder(
            request.reply_id,
            self._dialect.provider,
            capture=reasoning is not None,
            include_in_text=reasoning is not None and reasoning.include_in_text,
        )
        if self._stream:
            await self._read(wire, reply, notify)
        else:
            completion = await again(lambda: self._call(wire), self._max_retries)
            for event in reply.whole(completion):
                await notify(event)
        return reply.result()

    async def _call(self, wire: dict[str, Any]) -> Any:
        """A stream, or a whole reply."""
        with self._faults.named(self._sdk, "OpenAIError"), real_time_work():
            return await self._client.chat.completions.create(**wire)

    async def _read(self, wire: dict[str, Any], reply: ReplyBuilder, notify: Notify) -> None:
        async with contextlib.aclosing(self._chunks(wire)) as chunks:
            async for chunk in chunks:
                for event in reply.take(chunk):
                    await notify(event)
        if not reply.complete:
            raise unreachable("The connection to the model was closed in the middle of a reply.")
        for event in reply.end():
            await notify(event)

    async def _chunks(self, wire: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The stream's chunks. Virtual time stands still only while the network is waited for."""
        stream = await again(lambda: self._call(wire), self._max_retries)
        try:
            while True:
                with self._faults.named(self._sdk, "OpenAIError"), real_time_work():
                    chunk = await anext(stream, None)
                if chunk is None:
                    return
                if getattr(chunk, "error", None):
                    raise GloveError("ERR_MODEL_UNREACHABLE", "The model's server reported a fault in mid-reply.")
                yield chunk
        finally:
            with real_time_work():
                await stream.close()


def is_loopback(url: str) -> bool:
    """Whether ``url`` names this machine itself."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
