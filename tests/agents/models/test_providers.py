"""Providers by name: their keys, their defaults, and what is said when something is missing."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.models.openai_request import Reasoning
from agents.models.providers import PROVIDERS, create_adapter, get_available_providers
from tests.agents.models import fake_openai as fake
from tests.agents.models.test_openai_compatible import ask, user

KEYS = {
    "openrouter": "OPENROUTER_API_KEY",
    "vercel": "AI_GATEWAY_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "kimi": "MOONSHOT_API_KEY",
    "glm": "ZHIPUAI_API_KEY",
    "mimo": "MIMO_API_KEY",
}


def credentials(**environment: str) -> Credentials:
    return Credentials(folders=(), environ=environment)


@pytest.mark.parametrize("provider", KEYS)
def test_a_key_makes_a_model_and_its_absence_names_the_variable(provider: str) -> None:
    variable = KEYS[provider]
    with pytest.raises(ConfigError, match=variable):
        create_adapter(provider, credentials=credentials())
    for made in (
        create_adapter(provider, credentials=credentials(**{variable: "sk-1234567"})),
        create_adapter(provider, api_key="sk-1234567", credentials=credentials()),
    ):
        assert made.name == f"{provider}:{PROVIDERS[provider].model}"


@pytest.mark.parametrize("provider", ["ollama", "lmstudio"])
def test_a_server_nearby_needs_no_key_but_the_name_of_a_model(provider: str) -> None:
    assert create_adapter(provider, "qwen3", credentials=credentials()).name == f"{provider}:qwen3"
    with pytest.raises(ConfigError, match=r"model\.name"):
        create_adapter(provider, credentials=credentials())


def test_mistakes_say_what_to_do() -> None:
    with pytest.raises(ConfigError, match="openrouter, vercel, anthropic, openai"):
        create_adapter("closedai")
    with pytest.raises(ConfigError, match=r"model\.base_url"):
        create_adapter("openai-compat", "m", credentials=credentials())
    with pytest.raises(ConfigError, match="AWS_SECRET_ACCESS_KEY"):
        create_adapter("bedrock", api_key="x", credentials=credentials())


def test_what_can_be_used_depends_on_keys_alone() -> None:
    half = credentials(GEMINI_API_KEY="k", AWS_ACCESS_KEY_ID="x")
    found = {one.id: one for one in get_available_providers(half)}
    assert {one.id for one in found.values() if one.available} == {"gemini", "ollama", "lmstudio", "openai-compat"}
    whole = get_available_providers(credentials(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y"))
    assert "bedrock" in {one.id for one in whole if one.available}
    assert (found["kimi"].env, found["kimi"].model) == ("MOONSHOT_API_KEY", "kimi-k2.5")
    assert list(found) == list(PROVIDERS)


async def _sent(provider: str, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
    async with fake.FakeOpenAi([fake.says("ok")]).running() as server:
        await ask(create_adapter(provider, "m", "k-1234567", server.url, **options), user("hi"))  # type: ignore[arg-type]
    return server.bodies[0], server.headers[0]


@pytest.mark.realtime
async def test_each_provider_gets_what_it_understands() -> None:
    body, headers = await _sent("openrouter")
    assert body["max_tokens"] == 8192
    assert "cache_control" in str(body["messages"][0])
    assert headers["authorization"] == "Bearer k-1234567"
    body, _ = await _sent("kimi", max_tokens=9)
    assert body["max_tokens"] == 9
    assert "cache_control" not in str(body)
    assert not {"reasoning_effort", "reasoning", "thinking"} & set(body)


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("provider", "options", "effort"),
    [
        ("kimi", {"reasoning_effort": "minimal"}, "minimal"),
        ("mimo", {"reasoning_effort": "minimal"}, None),
        ("mimo", {"reasoning_effort": "low"}, "low"),
        ("kimi", {"reasoning_effort": "low", "reasoning": Reasoning(effort="high")}, "high"),
        ("kimi", {"reasoning_effort": "low", "reasoning": Reasoning(echo=False)}, "low"),
        ("kimi", {"reasoning_effort": "low", "reasoning": False}, None),
        ("kimi", {"reasoning": True}, None),
    ],
)
async def test_ways_to_ask_for_thoughts(provider: str, options: dict[str, Any], effort: str | None) -> None:
    body, _ = await _sent(provider, **options)
    assert body.get("reasoning_effort") == effort


@pytest.mark.realtime
async def test_openai_itself_is_told_the_length_in_its_new_words() -> None:
    assert PROVIDERS["openai"].dialect().token_field == "max_completion_tokens"
    body, _ = await _sent("openai")
    assert "max_tokens" in body
