"""Short-lived tokens of speech services for browsers: the long-lived key stays on the server.

Sources: ElevenLabs' single-use tokens (``POST /v1/single-use-token/<kind>``), Deepgram's token grants
(``POST /v1/auth/grant``) and Cartesia's access tokens (``POST /access-token``), as their API references give them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agents.base.clock import real_time_work
from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from agents.web.gate import Endpoint
from agents.web.refusals import reply

log = structlog.get_logger(__name__)

Speech = Literal["stt", "tts"]

UPSTREAM_S = 10.0
"""Longest time that a service may take."""


@dataclass(frozen=True)
class TokenService:
    """How one service gives tokens.

    Attributes:
        env: the secret that is exchanged.
        url: where, by purpose.
        header: the header with the key: its name and what stands before the key.
        token_fields: names under which the token may come; the first that is there counts.
        body: what is asked for, given the purpose and the seconds that the token shall live.
        headers: further headers.
    """

    env: str
    url: Callable[[Speech], str]
    header: tuple[str, str]
    token_fields: tuple[str, ...]
    body: Callable[[Speech, int], dict[str, Any]]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


_ELEVENLABS_KINDS: dict[Speech, str] = {"stt": "realtime_scribe", "tts": "tts_websocket"}

SERVICES: Mapping[str, TokenService] = {
    "elevenlabs": TokenService(
        "ELEVENLABS_API_KEY",
        lambda speech: f"https://api.elevenlabs.io/v1/single-use-token/{_ELEVENLABS_KINDS[speech]}",
        ("xi-api-key", ""),
        ("token",),
        lambda _, __: {},
    ),
    "deepgram": TokenService(
        "DEEPGRAM_API_KEY",
        lambda _: "https://api.deepgram.com/v1/auth/grant",
        ("authorization", "Token "),
        ("access_token", "key"),
        lambda _, ttl_s: {"ttl_seconds": ttl_s},
    ),
    "cartesia": TokenService(
        "CARTESIA_API_KEY",
        lambda _: "https://api.cartesia.ai/access-token",
        ("authorization", "Bearer "),
        ("token", "jwt"),
        lambda speech, ttl_s: {"grants": {speech: True}, "expires_in": ttl_s},
        {"cartesia-version": "2026-03-01"},
    ),
}
"""The services by id."""


class VoiceTokenHandler:
    """An ASGI application that answers GET with ``{"token": …}``.

    It admits everybody: ``web_routes`` puts a gate in front of it.
    """

    def __init__(
        self,
        provider: str,
        service: TokenService,
        speech: Speech,
        ttl_s: int,
        api_key: str | None,
        credentials: Credentials | None,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._provider = provider
        self._service = service
        self._speech: Speech = speech
        self._ttl_s = ttl_s
        self._api_key = api_key
        self._credentials = credentials
        self._transport = transport
        self._endpoint = Endpoint(self._answer, "GET")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._endpoint(scope, receive, send)

    async def _answer(self, _: Request) -> Response:
        key = self._api_key or (self._credentials or Credentials()).require(self._service.env).reveal()
        return reply({"token": _token(await self._exchange(key), self._service, self._provider)})

    async def _exchange(self, key: str) -> httpx.Response:
        name, scheme = self._service.header
        headers = {**self._service.headers, name: f"{scheme}{key}"}
        body = self._service.body(self._speech, self._ttl_s)
        try:
            async with httpx.AsyncClient(timeout=UPSTREAM_S, transport=self._transport) as client:
                with real_time_work():
                    return await client.post(self._service.url(self._speech), headers=headers, json=body)
        except httpx.HTTPError as fault:
            log.warning("no token could be had", provider=self._provider, error=type(fault).__name__)
            raise GloveError(
                "ERR_TOKEN_UNREACHABLE", f"{self._provider} could not be reached.", "Check the network, then try again."
            ) from None


def create_voice_token_handler(
    provider: str,
    speech: Speech = "stt",
    *,
    ttl_s: int = 30,
    api_key: str | None = None,
    credentials: Credentials | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> VoiceTokenHandler:
    """An endpoint that exchanges the key of ``provider`` for a token that a browser may have.

    Args:
        provider: ``elevenlabs``, ``deepgram`` or ``cartesia``.
        speech: what the token is for, where that makes a difference.
        ttl_s: how long it shall live, in seconds, where that can be chosen.
        api_key: the key; looked up in ``credentials`` at each request when None.
        credentials: where keys come from.
        transport: the way to the service; the network when None.

    Raises:
        ConfigError: ``ERR_TOKEN_PROVIDER``, an unknown provider; ``ERR_TOKEN_TTL``.
    """
    service = SERVICES.get(provider)
    if service is None:
        raise ConfigError(
            "ERR_TOKEN_PROVIDER", f"{provider!r} gives no tokens.", f"Choose one of {', '.join(SERVICES)}."
        )
    if not 1 <= ttl_s <= 3600:
        raise ConfigError("ERR_TOKEN_TTL", f"A token cannot live {ttl_s} seconds.", "Choose 1 to 3600.")
    return VoiceTokenHandler(provider, service, speech, ttl_s, api_key, credentials, transport)


def _token(response: httpx.Response, service: TokenService, provider: str) -> str:
    """The token in what the service answered. What else it said is not passed on: it may quote the key."""
    if response.status_code >= 400:
        log.warning("a service refused a token", provider=provider, status=response.status_code)
        if response.status_code in (401, 403):
            raise ConfigError(
                "ERR_TOKEN_AUTH", f"{provider} did not accept the key of this server.", f"Check {service.env}."
            )
        raise GloveError("ERR_TOKEN_REFUSED", f"{provider} gave no token (status {response.status_code}).")
    try:
        told = response.json()
        return next(token for name in service.token_fields if isinstance(token := told.get(name), str) and token)
    except (ValueError, AttributeError, StopIteration):
        raise GloveError("ERR_TOKEN_REFUSED", f"{provider} answered without a token.") from None
