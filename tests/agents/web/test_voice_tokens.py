"""Tokens of speech services, against stubs of the services."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.web.voice_tokens import create_voice_token_handler
from tests.agents.web.peer import ask

KEY = "sk-very-secret"


class Service:
    """Answers as it was told and keeps what it was asked."""

    def __init__(self, status: int = 200, body: Any = None, fault: Exception | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self._status, self._body, self._fault = status, body, fault

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self._fault is not None:
            raise self._fault
        if isinstance(self._body, str):
            return httpx.Response(self._status, text=self._body)
        return httpx.Response(self._status, json=self._body)

    async def ask(self, provider: str = "deepgram", *where: Any, **options: Any) -> tuple[int, Any]:
        transport = httpx.MockTransport(self)
        given = {"api_key": KEY, **options}
        return await ask(create_voice_token_handler(provider, *where, transport=transport, **given), "GET", "/")


@pytest.mark.parametrize(
    ("provider", "speech", "url", "header", "value", "body", "answer"),
    [
        (
            "elevenlabs", "stt", "https://api.elevenlabs.io/v1/single-use-token/realtime_scribe",
            "xi-api-key", KEY, {}, {"token": "short"},
        ),
        (
            "elevenlabs", "tts", "https://api.elevenlabs.io/v1/single-use-token/tts_websocket",
            "xi-api-key", KEY, {}, {"token": "short"},
        ),
        (
            "deepgram", "stt", "https://api.deepgram.com/v1/auth/grant",
            "authorization", f"Token {KEY}", {"ttl_seconds": 30}, {"access_token": "short", "expires_in": 30},
        ),
        (
            "cartesia", "tts", "https://api.cartesia.ai/access-token",
            "authorization", f"Bearer {KEY}", {"grants": {"tts": True}, "expires_in": 30}, {"token": "short"},
        ),
    ],
)  # fmt: skip
async def test_the_key_is_exchanged_as_the_service_wants_it(
    provider: str, speech: str, url: str, header: str, value: str, body: Any, answer: Any
) -> None:
    service = Service(body=answer)
    assert await service.ask(provider, speech) == (200, {"token": "short"})
    (request,) = service.requests
    assert (request.method, str(request.url), request.headers[header]) == ("POST", url, value)
    assert json.loads(request.content) == body


@pytest.mark.parametrize(
    ("service", "code"),
    [
        (Service(401, {"error": f"bad key {KEY}"}), "ERR_TOKEN_AUTH"),
        (Service(403, KEY), "ERR_TOKEN_AUTH"),
        (Service(429, {"error": "slow down"}), "ERR_TOKEN_REFUSED"),
        (Service(500, KEY), "ERR_TOKEN_REFUSED"),
        (Service(200, "<html>"), "ERR_TOKEN_REFUSED"),
        (Service(200, ["short"]), "ERR_TOKEN_REFUSED"),
        (Service(200, {"access_token": "", "asked_with": KEY}), "ERR_TOKEN_REFUSED"),
        (Service(200, {"access_token": 5}), "ERR_TOKEN_REFUSED"),
        (Service(fault=httpx.ConnectTimeout(KEY)), "ERR_TOKEN_UNREACHABLE"),
    ],
)
async def test_every_fault_of_a_service_is_500_and_tells_no_key(service: Service, code: str) -> None:
    status, answer = await service.ask()
    assert (status, answer["code"]) == (500, code) and answer["error"]
    assert KEY not in str(answer)


async def test_the_key_is_looked_up_at_each_request() -> None:
    environ: dict[str, str] = {}
    service = Service(body={"access_token": "short"})
    options = {"api_key": None, "credentials": Credentials([], environ)}
    status, answer = await service.ask(**options)
    assert (status, answer["code"]) == (500, "ERR_CREDENTIALS_MISSING") and not service.requests
    environ["DEEPGRAM_API_KEY"] = KEY
    assert await service.ask(**options) == (200, {"token": "short"})


async def test_only_get_is_answered_and_no_cache_keeps_it() -> None:
    service = Service(body={"access_token": "short"})
    handler = create_voice_token_handler("deepgram", api_key=KEY, transport=httpx.MockTransport(service))
    assert (await ask(handler, "POST", "/", {}))[0] == 405 and not service.requests


def test_an_unknown_service_is_refused_at_once() -> None:
    for wrong in (
        {"provider": "nobody"},
        {"provider": "deepgram", "ttl_s": 0},
        {"provider": "deepgram", "ttl_s": 10**6},
    ):
        with pytest.raises(ConfigError):
            create_voice_token_handler(**wrong)
