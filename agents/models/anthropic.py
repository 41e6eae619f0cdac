"""Claude through Anthropic's Messages API, with the official SDK: streaming, tools, prompt caching, thinking."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncGenerator
from typing import Any

from agents.base.abort import AbortToken
from agents.base.clock import real_time_work
from agents.base.errors import ConfigError, GloveError
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.anthropic_reply import ReplyBuilder
from agents.models.anthropic_request import CacheTtl, build
from agents.models.sdk_faults import SdkFaults, again, unreachable

DEFAULT_MODEL = "claude-sonnet-4-20250514"
DEFAULT_MAX_TOKENS = 8192

_MIN_THINKING_TOKENS = 1024


class AnthropicModel:
    """A ``ModelAdapter`` for Anthropic, or for a server that speaks its protocol.

    The SDK takes seconds to import and is loaded in a thread by ``warm``, or by the first call.

    Args:
        model: model id.
        api_key: secret; never part of an error or a log line.
        base_url: another server with the same protocol; Anthropic's own when None.
        max_tokens: longest reply, in tokens.
        cache: whether and for how long the provider may keep the stable prefix of the prompt; True means 5 minutes.
        thinking: tokens the model may think before it speaks; None for none. Must be below ``max_tokens``.
        timeout_s: longest silence of the server, in seconds.
        max_retries: attempts after a refused or failed connection, before anything was said.

    Raises:
        ConfigError: ``thinking`` is out of range.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        cache: bool | CacheTtl = True,
        thinking: int | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        if thinking is not None and not _MIN_THINKING_TOKENS <= thinking < max_tokens:
            raise ConfigError(
                "ERR_CONFIG",
                f"The thinking budget of {thinking} tokens is out of range.",
                f"Choose at least {_MIN_THINKING_TOKENS} and less than max_tokens ({max_tokens}).",
            )
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._max_tokens = max_tokens
        self._cache: CacheTtl | None = ("5m" if cache else None) if isinstance(cache, bool) else cache
        self._thinking = thinking
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._faults = SdkFaults(self.name, "Anthropic", "ANTHROPIC_API_KEY", api_key)
        self._sdk: Any = None
        self._client: Any = None
        self._warming = asyncio.Lock()

    @property
    def name(self) -> str:
        """``anthropic:`` and the model id."""
        return f"anthropic:{self._model}"

    async def warm(self) -> None:
        """Load the SDK and make the client now, off the loop, so that the first reply does not wait for it."""
        async with self._warming:
            if self._client is not None:
                return
            self._sdk = await asyncio.get_running_loop().run_in_executor(None, importlib.import_module, "anthropic")
            self._client = self._sdk.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                timeout=self._timeout_s,
                max_retries=0,
            )

    async def close(self) -> None:
        """Close connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``, streaming.

        Raises:
            Aborted: at once when ``abort`` fires; the HTTP stream is closed first.
            GloveError: ``ERR_MODEL_AUTH``, ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.
        """
        if not self._api_key:
            raise GloveError(
                "ERR_MODEL_AUTH", "There is no key for Anthropic.", "Set ANTHROPIC_API_KEY, or choose another model."
            )
        return await abort.race(self._stream(request, notify))

    async def _stream(self, request: PromptRequest, notify: Notify) -> ModelResult:
        await self.warm()
        wire = build(
            request, model=self._model, max_tokens=self._max_tokens, cache=self._cache, thinking=self._thinking
        )
        reply = ReplyBuilder(request.reply_id)
        async with contextlib.aclosing(self._events(wire)) as events:
            async for event in events:
                told = reply.take(event)
                if told is not None:
                    await notify(told)
        if not reply.complete:
            raise unreachable("The connection to the model was closed in the middle of a reply.")
        await notify(reply.end())
        return reply.result()

    async def _open(self, wire: dict[str, Any]) -> Any:
        with self._faults.named(self._sdk, "AnthropicError"), real_time_work():
            return await self._client.messages.create(**wire)

    async def _events(self, wire: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The stream's events. Virtual time stands still only while the network is waited for."""
        stream = await again(lambda: self._open(wire), self._max_retries)
        try:
            while True:
                with self._faults.named(self._sdk, "AnthropicError"), real_time_work():
                    event = await anext(stream, None)
                if event is None:
                    return
                yield event
        finally:
            with real_time_work():
                await stream.close()
