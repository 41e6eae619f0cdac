"""Models on Amazon Bedrock through Converse, with Amazon's SDK on asyncio (aiobotocore)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import importlib.util
import logging
import os
from dataclasses import dataclass
from typing import Any

from agents.base.errors import ConfigError
from agents.core.model import PromptRequest
from agents.models.anthropic import check_thinking
from agents.models.bedrock_faults import bedrock_fault
from agents.models.bedrock_reply import ReplyBuilder
from agents.models.bedrock_request import build, caches
from agents.models.caching import CacheTtl, cache_ttl
from agents.models.faults import Account, ModelFault
from agents.models.sdk_model import SdkModel

DEFAULT_MODEL = "anthropic.claude-3-5-sonnet-20241022-v2:0"
DEFAULT_MAX_TOKENS = 8192
DEFAULT_REGION = "us-east-1"

_SERVICE = "bedrock-runtime"


@dataclass(frozen=True)
class AwsKeys:
    """A pair of keys, and the token of a session where there is one. It does not print itself."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return "AwsKeys(***)"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be printed."""
        return (self.secret_access_key, *((self.session_token,) if self.session_token else ()), self.access_key_id)


class BedrockModel(SdkModel):
    """A ``ModelAdapter`` for models on Bedrock.

    Args:
        model: id of a model or of an inference profile.
        keys: credentials; the SDK's own chain (environment, profile, role of the machine) when None.
        region: where to ask; ``AWS_REGION`` when None, else ``us-east-1``.
        base_url: another server with the same protocol; Amazon's own in ``region`` when None.
        max_tokens: longest reply, in tokens.
        stream: whether words arrive as they are written.
        cache: whether and for how long the provider may keep the stable prefix of the prompt; True means 5 minutes,
            None means that where the model's family is known to allow it.
        thinking: tokens that a Claude may think before it speaks; None for none. Must be below ``max_tokens``.
        timeout_s: longest time without an event of the reply, in seconds.
        max_retries: attempts after a refused or failed connection, before anything was said.

    Raises:
        ConfigError: ``ERR_MODEL_PACKAGE`` when aiobotocore is not installed; ``thinking`` is out of range.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        keys: AwsKeys | None = None,
        *,
        region: str | None = None,
        base_url: str | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        stream: bool = True,
        cache: bool | CacheTtl | None = None,
        thinking: int | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        if importlib.util.find_spec("aiobotocore") is None:
            raise ConfigError(
                "ERR_MODEL_PACKAGE",
                "Models on Bedrock need the package aiobotocore, which is not installed.",
                "Install Glove with its extra bedrock (glove-appliance[bedrock]); scripts/setup --dev has it too.",
            )
        check_thinking(thinking, max_tokens)
        account = Account(
            "Bedrock", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", keys.secrets if keys is not None else ()
        )
        super().__init__(f"bedrock:{model}", account, stream=stream, timeout_s=timeout_s, max_retries=max_retries)
        self._model = model
        self._keys = keys
        self._region = region or os.environ.get("AWS_REGION") or DEFAULT_REGION
        self._base_url = base_url
        self._max_tokens = max_tokens
        self._cache: CacheTtl | None = cache_ttl(caches(model) if cache is None else cache)
        self._thinking = thinking
        self._exceptions: Any = None

    async def _connect(self) -> Any:
        """A client and what closes it. The SDK's tables are read in a thread: they are megabytes of JSON."""
        session = await asyncio.get_running_loop().run_in_executor(None, _load)
        self._exceptions = importlib.import_module("botocore.exceptions")
        config = importlib.import_module("aiobotocore.config").AioConfig(
            connect_timeout=self._timeout_s,
            read_timeout=self._timeout_s,
            retries={"total_max_attempts": 1, "mode": "standard"},
        )
        keys = self._keys
        given = {
            "aws_access_key_id": keys.access_key_id,
            "aws_secret_access_key": keys.secret_access_key,
            "aws_session_token": keys.session_token,
        } if keys is not None else {}  # fmt: skip
        stack = contextlib.AsyncExitStack()
        made = session.create_client(
            _SERVICE, region_name=self._region, endpoint_url=self._base_url, config=config, **given
        )
        return _Connection(await stack.enter_async_context(made), stack)

    def _wire(self, request: PromptRequest) -> dict[str, Any]:
        return build(
            request, model=self._model, max_tokens=self._max_tokens, cache=self._cache, thinking=self._thinking
        )

    def _reply(self, request: PromptRequest) -> ReplyBuilder:
        return ReplyBuilder(request.reply_id, self._model)

    async def _call(self, client: _Connection, wire: dict[str, Any]) -> Any:
        if not self._stream:
            return await client.sdk.converse(**wire)
        response = await client.sdk.converse_stream(**wire)
        return _Stream(response["stream"])

    async def _shut(self, stream: _Stream) -> None:
        await stream.close()

    def _fault(self, error: Exception) -> ModelFault | None:
        if self._exceptions is None:
            return None
        return bedrock_fault(error, self._exceptions, self._account)


@dataclass(frozen=True)
class _Connection:
    """The SDK's client, which is closed by leaving a context."""

    sdk: Any
    stack: contextlib.AsyncExitStack

    async def close(self) -> None:
        await self.stack.aclose()


class _Stream:
    """The SDK's event stream, which closes its connection but not the generators that read from it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events = aiter(stream)

    def __aiter__(self) -> Any:
        return self._events

    async def close(self) -> None:
        self._stream.close()
        await self._events.aclose()


def _load() -> Any:
    """A session whose tables are in memory."""
    for name in ("botocore", "aiobotocore"):
        # At debug level the SDK writes whole requests, with session tokens.
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    session = importlib.import_module("aiobotocore.session").get_session()
    session.register_component("data_loader", _tables())
    return session


@functools.cache
def _tables() -> Any:
    """The SDK's description of the service, shared by all clients."""
    session = importlib.import_module("aiobotocore.session").get_session()
    session.warm_up_loader_caches(_SERVICE)
    return session.get_component("data_loader")
