"""The connection to a server with OpenAI's audio endpoints: one SDK client, loaded off the loop, faults by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import structlog

from agents.base.clock import real_time_work
from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import Account, ModelFault, unreachable
from agents.models.openai_compatible import load_client
from agents.models.sdk_faults import sdk_fault
from audio.providers.faults import Side, voice_fault

log = structlog.get_logger(__name__)

API = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"


class SpeechServer:
    """A server, shared by all that is asked of it.

    Args:
        api_key: never part of an error or a log line; None for a server that wants none.
        base_url: address of the API, with its version (``…/v1``).
        timeout_s: longest silence of the server, in seconds.
        key_name: environment variable that the key comes from, for remedies.
    """

    def __init__(
        self, api_key: str | None = None, *, base_url: str = API, timeout_s: float = 8.0, key_name: str = KEY
    ) -> None:
        self.base_url = base_url or API
        self.is_openai = self.base_url.rstrip("/") == API
        self.account = Account("OpenAI" if self.is_openai else "The server", key_name, (api_key,) if api_key else ())
        self.timeout_s = timeout_s
        self._api_key = api_key
        self._sdk: Any = None
        self._client: Any = None
        self._loading = asyncio.Lock()

    def twin(self) -> SpeechServer:
        """The same server over connections of its own, for another loop."""
        return SpeechServer(
            self._api_key, base_url=self.base_url, timeout_s=self.timeout_s, key_name=self.account.key_name
        )

    async def client(self) -> Any:
        """The SDK's client; loaded by the first call."""
        async with self._loading:
            if self._client is None:
                provider = "openai" if self.is_openai else "openai-compat"
                self._sdk, self._client = await asyncio.get_running_loop().run_in_executor(
                    None, load_client, self._api_key, self.base_url, provider, self.timeout_s
                )
            return self._client

    async def close(self) -> None:
        """Close connections; the next call opens new ones."""
        async with self._loading:
            client, self._client = self._client, None
            if client is not None:
                await client.close()

    @contextlib.asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None]:
        """Around every wait for the server: silence ends, and faults are a ``ModelFault``."""
        fault: ModelFault | None
        try:
            with real_time_work():
                async with asyncio.timeout(self.timeout_s):
                    yield
            return
        except GloveError:
            raise
        except TimeoutError:
            fault = unreachable(f"{self.account.provider} was silent for {self.timeout_s:g} seconds.")
        except Exception as error:
            fault = sdk_fault(error, self._sdk, "OpenAIError", self.account)
            if fault is None:
                raise
        raise fault

    def voice_fault(self, fault: GloveError, side: Side) -> GloveVoiceError:
        """``fault`` in the words of the voice pipeline; logged."""
        error = voice_fault(fault, side)
        log.warning("a speech server failed", server=self.account.provider, code=error.code, error=error.message)
        return error
