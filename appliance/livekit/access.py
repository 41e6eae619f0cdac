"""The LiveKit server of a configuration, and asking its API."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from realtime.livekit.tokens import LiveKitAccess

if TYPE_CHECKING:
    from livekit.api import LiveKitAPI

    from appliance.config.schema import GloveConfig

SECRET = "livekit_api_secret"
"""Name of the secret."""

ASK_S = 10.0


def livekit_access(config: GloveConfig, credentials: Credentials | None = None) -> LiveKitAccess:
    """Where the server is and how to get in.

    Raises:
        ConfigError: ``ERR_LIVEKIT_URL``, none is configured; ``ERR_CREDENTIALS_MISSING``; ``ERR_LIVEKIT_SECRET``.
    """
    livekit = config.livekit
    if not livekit.url:
        raise ConfigError(
            "ERR_LIVEKIT_URL", "No LiveKit server is configured.", "Set livekit.url and livekit.key in glove.toml."
        )
    access = LiveKitAccess(livekit.url, livekit.key, (credentials or Credentials()).require(SECRET))
    # LiveKitAccess has judged the secret; of the one it lets pass, the signing library would warn at every token.
    warnings.filterwarnings("ignore", message="The HMAC key is")
    return access


@asynccontextmanager
async def asking(access: LiveKitAccess) -> AsyncGenerator[LiveKitAPI]:
    """The server's API, for the block.

    Raises:
        GloveError: ``ERR_LIVEKIT_AUTH``, the key is not accepted; ``ERR_LIVEKIT_CONNECTION``, the server is not there;
            ``ERR_LIVEKIT_REQUEST``, it does not do what it is asked.
    """
    import aiohttp
    from livekit.api import LiveKitAPI, TwirpError

    timeout = aiohttp.ClientTimeout(total=ASK_S)
    try:
        async with LiveKitAPI(access.http_url, access.key, access.secret.reveal(), timeout=timeout) as server:
            yield server
    except TwirpError as fault:
        if fault.code in ("unauthenticated", "permission_denied"):
            raise GloveError(
                "ERR_LIVEKIT_AUTH",
                "The LiveKit server does not accept the key.",
                f"Check livekit.key and the secret {SECRET}.",
                fault,
            ) from fault
        raise GloveError("ERR_LIVEKIT_REQUEST", f"The LiveKit server refuses: {fault.message}", cause=fault) from fault
    except (aiohttp.ClientError, TimeoutError) as fault:
        raise GloveError(
            "ERR_LIVEKIT_CONNECTION", "The LiveKit server cannot be reached.", "Check livekit.url.", fault
        ) from fault
