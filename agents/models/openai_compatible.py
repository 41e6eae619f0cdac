"""Any server that speaks OpenAI's Chat Completions, through the official SDK: providers by key, and servers nearby."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

from agents.core.model import PromptRequest
from agents.models.caching import CacheTtl, cache_ttl
from agents.models.faults import Account, ModelFault, unreachable
from agents.models.http_limit import limited
from agents.models.openai_request import Dialect, Reasoning, build
from agents.models.openai_stream import ReplyBuilder
from agents.models.sdk_faults import sdk_fault
from agents.models.sdk_model import SdkModel

DEFAULT_MAX_TOKENS = 4096

NO_KEY = "not-needed"
"""Sent where a server wants no key: the SDK insists on one."""


class OpenAiCompatibleModel(SdkModel):
    """A ``ModelAdapter`` for the Chat Completions format. Calls to this machine never go through a proxy.

    Args:
        model: model id.
        api_key: secret, never part of an error or a log line; None for a server that wants none.
        base_url: address of the API, with its version (``…/v1``).
        dialect: what is special about the provider.
        max_tokens: longest reply, in tokens.
        stream: whether words arrive as they are written.
        reasoning: True captures thoughts and sends them back; False ignores them.
        cache: whether marks for the prompt cache are sent, where the provider reads them; True means 5 minutes.
        timeout_s: longest time without an event of the reply, in seconds.
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
        self._dialect = dialect or Dialect()
        provider = self._dialect.provider
        account = Account(provider, key_name, (api_key,) if api_key else ())
        super().__init__(f"{provider}:{model}", account, stream=stream, timeout_s=timeout_s, max_retries=max_retries)
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._max_tokens = max_tokens
        self._reasoning = (Reasoning() if reasoning else None) if isinstance(reasoning, bool) else reasoning
        self._cache: CacheTtl | None = cache_ttl(cache)
        self._sdk: Any = None

    async def _connect(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, self._load)

    def _load(self) -> Any:
        self._sdk, client = load_client(self._api_key, self._base_url, self._dialect.provider, self._timeout_s)
        return client

    def _wire(self, request: PromptRequest) -> dict[str, Any]:
        return build(
            request,
            model=self._model,
            max_tokens=self._max_tokens,
            dialect=self._dialect,
            stream=self._stream,
            reasoning=self._reasoning,
            cache=self._cache,
        )

    def _reply(self, request: PromptRequest) -> ReplyBuilder:
        reasoning = self._reasoning
        return ReplyBuilder(
            request.reply_id,
            self._dialect.provider,
            capture=reasoning is not None,
            include_in_text=reasoning is not None and reasoning.include_in_text,
        )

    async def _call(self, client: Any, wire: dict[str, Any]) -> Any:
        reply = await client.chat.completions.create(**wire)
        return _Stream(reply) if self._stream else reply

    async def _shut(self, stream: _Stream) -> None:
        await stream.close()

    def _fault(self, error: Exception) -> ModelFault | None:
        return sdk_fault(error, self._sdk, "OpenAIError", self._account)


class _Stream:
    """The SDK's stream of chunks, ended by a chunk that is an error in disguise."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncGenerator[Any, None]:
        async for chunk in self._stream:
            if getattr(chunk, "error", None):
                raise unreachable("The model's server reported a fault in mid-reply.")
            yield chunk

    async def close(self) -> None:
        await self._stream.close()


def load_client(api_key: str | None, base_url: str, provider: str, timeout_s: float) -> tuple[Any, Any]:
    """OpenAI's SDK, and a client that makes one attempt per call. Takes a second: certificates alone a tenth.

    Args:
        api_key: None for a server that wants none.
        base_url: address of the API, with its version.
        provider: ``openai``, or anybody else, who is not told the organisation.
        timeout_s: longest silence of the server, in seconds.
    """
    sdk: Any = importlib.import_module("openai")
    direct = {"trust_env": False} if is_loopback(base_url) else {}
    client = sdk.AsyncOpenAI(
        api_key=api_key or NO_KEY,
        base_url=base_url,
        timeout=timeout_s,
        max_retries=0,
        http_client=sdk.DefaultAsyncHttpxClient(event_hooks=limited(), **direct),
    )
    if provider != "openai":
        # The SDK reads them from the environment; they are nobody else's business.
        client.organization = client.project = None
    return sdk, client


def is_loopback(url: str) -> bool:
    """Whether ``url`` names this machine itself."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
