"""Claude through Anthropic's Messages API, with the official SDK: streaming, tools, prompt caching, thinking."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from agents.base.abort import AbortToken
from agents.base.errors import ConfigError, GloveError
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.anthropic_reply import ReplyBuilder
from agents.models.anthropic_request import build
from agents.models.caching import CacheTtl, cache_ttl
from agents.models.faults import Account, ModelFault
from agents.models.http_limit import limited
from agents.models.sdk_faults import sdk_fault
from agents.models.sdk_model import SdkModel

DEFAULT_MODEL = "claude-sonnet-4-20250514"
DEFAULT_MAX_TOKENS = 8192

_MIN_THINKING_TOKENS = 1024


class AnthropicModel(SdkModel):
    """A ``ModelAdapter`` for Anthropic, or for a server that speaks its protocol.

    Args:
        model: model id.
        api_key: secret; never part of an error or a log line.
        base_url: another server with the same protocol; Anthropic's own when None.
        max_tokens: longest reply, in tokens.
        stream: whether words arrive as they are written.
        cache: whether and for how long the provider may keep the stable prefix of the prompt; True means 5 minutes.
        thinking: tokens the model may think before it speaks; None for none. Must be below ``max_tokens``.
        timeout_s: longest time without an event of the reply, in seconds.
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
        stream: bool = True,
        cache: bool | CacheTtl = True,
        thinking: int | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        check_thinking(thinking, max_tokens)
        account = Account("Anthropic", "ANTHROPIC_API_KEY", (api_key,) if api_key else ())
        super().__init__(f"anthropic:{model}", account, stream=stream, timeout_s=timeout_s, max_retries=max_retries)
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._max_tokens = max_tokens
        self._cache: CacheTtl | None = cache_ttl(cache)
        self._thinking = thinking
        self._sdk: Any = None

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``. Raises as ``SdkModel.prompt``."""
        if not self._api_key:
            raise GloveError(
                "ERR_MODEL_AUTH", "There is no key for Anthropic.", "Set ANTHROPIC_API_KEY, or choose another model."
            )
        return await super().prompt(request, notify, abort)

    async def _connect(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, self._load)

    def _load(self) -> Any:
        """The SDK and a client, whose certificates alone take a tenth of a second to read."""
        self._sdk = importlib.import_module("anthropic")
        return self._sdk.AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            timeout=self._timeout_s,
            max_retries=0,
            http_client=self._sdk.DefaultAsyncHttpxClient(event_hooks=limited()),
        )

    def _wire(self, request: PromptRequest) -> dict[str, Any]:
        return build(
            request,
            model=self._model,
            max_tokens=self._max_tokens,
            cache=self._cache,
            thinking=self._thinking,
            stream=self._stream,
        )

    def _reply(self, request: PromptRequest) -> ReplyBuilder:
        return ReplyBuilder(request.reply_id)

    async def _call(self, client: Any, wire: dict[str, Any]) -> Any:
        return await client.messages.create(**wire)

    async def _shut(self, stream: Any) -> None:
        await stream.close()

    def _fault(self, error: Exception) -> ModelFault | None:
        return sdk_fault(error, self._sdk, "AnthropicError", self._account)


def check_thinking(thinking: int | None, max_tokens: int) -> None:
    """Raise ``ConfigError`` unless a budget of ``thinking`` tokens fits into a reply of ``max_tokens``."""
    if thinking is not None and not _MIN_THINKING_TOKENS <= thinking < max_tokens:
        raise ConfigError(
            "ERR_CONFIG",
            f"The thinking budget of {thinking} tokens is out of range.",
            f"Choose at least {_MIN_THINKING_TOKENS} and less than max_tokens ({max_tokens}).",
        )
