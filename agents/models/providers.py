"""The adapter for any provider that is known by name, and who of them can be used."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.core.model import ModelAdapter
from agents.models.anthropic import AnthropicModel
from agents.models.bedrock import AwsKeys, BedrockModel
from agents.models.caching import CacheTtl
from agents.models.openai_compatible import OpenAiCompatibleModel
from agents.models.openai_request import Effort, Reasoning
from agents.models.provider_table import PROVIDERS, Provider


@dataclass(frozen=True)
class Availability:
    """Whether a provider can be used right now, and what that depends on."""

    id: str
    available: bool
    env: str | None
    model: str | None


def get_available_providers(credentials: Credentials | None = None) -> list[Availability]:
    """All providers, with whether their key is present. Those that need none are available; nobody is asked.

    Raises:
        ConfigError: a file of secrets that cannot be used.
    """
    keys = credentials or Credentials()
    return [Availability(one.id, _may_be_used(one, keys), one.env, one.model) for one in PROVIDERS.values()]


def create_adapter(
    provider: str,
    model: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    *,
    max_tokens: int | None = None,
    stream: bool = True,
    reasoning: bool | Reasoning | None = None,
    reasoning_effort: Effort | None = None,
    include_reasoning_in_text: bool | None = None,
    cache: bool | CacheTtl | None = None,
    timeout_s: float = 60.0,
    max_retries: int = 2,
    credentials: Credentials | None = None,
) -> ModelAdapter:
    """A model of ``provider``. Nothing is loaded and nobody is called yet.

    Args:
        provider: a key of ``PROVIDERS``.
        model: model id; the provider's default when None or empty.
        api_key: the key; looked up in ``credentials`` when None or empty.
        base_url: another address with the same protocol.
        max_tokens: longest reply in tokens; the provider's default when None.
        stream: whether words arrive as they are written.
        reasoning: whether and how thoughts are asked for and kept. Anthropic and Bedrock take a budget from it alone
            (``Reasoning(thinking={"budget_tokens": …})``).
        reasoning_effort: short for ``Reasoning(effort=…)``; what ``reasoning`` itself says wins.
        include_reasoning_in_text: likewise for ``Reasoning(include_in_text=…)``.
        cache: the prompt cache; None takes what suits the provider.
        timeout_s: longest silence of the server, in seconds.
        max_retries: attempts after a refused or failed connection.
        credentials: where keys come from.

    Raises:
        ConfigError: ``ERR_MODEL_PROVIDER``, an unknown or unusable provider; ``ERR_MODEL_NAME`` and
            ``ERR_MODEL_BASE_URL``, something that must be given; ``ERR_CREDENTIALS_MISSING``, with the name of the
            environment variable of the missing key; ``ERR_CONFIG``.
    """
    known = PROVIDERS.get(provider)
    if known is None:
        raise ConfigError(
            "ERR_MODEL_PROVIDER", f"There is no provider {provider!r}.", f"Choose one of {', '.join(PROVIDERS)}."
        )
    name = model or known.model
    if not name:
        raise ConfigError(
            "ERR_MODEL_NAME", f"{known.id} has no default model.", "Name one that the server offers (model.name)."
        )
    tokens = max_tokens or known.max_tokens
    keys = credentials or Credentials()
    if known.format == "bedrock":
        return BedrockModel(
            name,
            _aws_keys_alone(keys, api_key),
            base_url=base_url or None,
            max_tokens=tokens,
            stream=stream,
            cache=cache,
            thinking=_thinking(reasoning),
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
    key = api_key or _key(known, keys)
    if known.format == "anthropic":
        return AnthropicModel(
            name,
            key,
            base_url=base_url or None,
            max_tokens=tokens,
            stream=stream,
            cache=True if cache is None else cache,
            thinking=_thinking(reasoning),
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
    return OpenAiCompatibleModel(
        name,
        key,
        base_url=_base_url(known, base_url),
        dialect=known.dialect(base_url),
        max_tokens=tokens,
        stream=stream,
        reasoning=_reasoning(known, reasoning, reasoning_effort, include_reasoning_in_text),
        cache=known.cache_marks if cache is None else cache,
        timeout_s=timeout_s,
        max_retries=max_retries,
        key_name=known.env or "the key",
    )


def _may_be_used(provider: Provider, keys: Credentials) -> bool:
    if provider.format == "bedrock":
        return _aws_keys(keys) is not None
    return not provider.needs_key or (provider.env is not None and keys.get(provider.env) is not None)


def _key(provider: Provider, keys: Credentials) -> str | None:
    if provider.env is None:
        return None
    if provider.needs_key:
        return keys.require(provider.env).reveal()
    return _secret(keys, provider.env)


def _secret(keys: Credentials, name: str) -> str | None:
    secret = keys.get(name)
    return None if secret is None else secret.reveal()


def _aws_keys(keys: Credentials) -> AwsKeys | None:
    """The pair of keys that was given to Glove; None leaves it to the SDK to find some."""
    key, secret = _secret(keys, "AWS_ACCESS_KEY_ID"), _secret(keys, "AWS_SECRET_ACCESS_KEY")
    return AwsKeys(key, secret, _secret(keys, "AWS_SESSION_TOKEN")) if key and secret else None


def _aws_keys_alone(keys: Credentials, api_key: str | None) -> AwsKeys | None:
    if api_key:
        raise ConfigError(
            "ERR_CONFIG",
            "Bedrock takes no single key.",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile (AWS_PROFILE).",
        )
    return _aws_keys(keys)


def _thinking(reasoning: bool | Reasoning | None) -> int | None:
    """The budget of tokens in ``reasoning``, where there is one."""
    given = reasoning.thinking if isinstance(reasoning, Reasoning) else None
    budget = (given or {}).get("budget_tokens")
    return budget if isinstance(budget, int) else None


def _base_url(provider: Provider, given: str | None) -> str:
    elsewhere = os.environ.get(provider.base_url_env, "") if provider.base_url_env else ""
    url = given or elsewhere or provider.base_url
    if not url:
        raise ConfigError(
            "ERR_MODEL_BASE_URL",
            f"{provider.id} needs the address of a server.",
            'Set model.base_url, for example "http://127.0.0.1:8080/v1".',
        )
    return url


def _reasoning(
    provider: Provider, given: bool | Reasoning | None, effort: Effort | None, in_text: bool | None
) -> bool | Reasoning:
    """One setting out of the three ways to give it; the object's own fields win over the short forms."""
    if isinstance(given, bool) and not provider.always_reasons:
        return given
    asked = isinstance(given, Reasoning) or effort is not None or bool(in_text)
    if not asked and not provider.always_reasons:
        return False
    base = given if isinstance(given, Reasoning) else Reasoning()
    chosen = base.effort or effort
    known = chosen if chosen in provider.efforts else None
    return replace(base, effort=known, include_in_text=base.include_in_text or bool(in_text))
