"""The providers that are known by name, and the adapter for any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.core.model import ModelAdapter
from agents.models.caching import CacheTtl
from agents.models.openai_request import IMAGES, Dialect, Effort, Reasoning

if TYPE_CHECKING:
    from agents.models.bedrock import AwsKeys

Format = Literal["openai", "anthropic", "bedrock"]


@dataclass(frozen=True)
class Provider:
    """One provider of models.

    Attributes:
        id: what it is called in a configuration.
        format: the protocol that it speaks.
        env: environment variable of its key; None if it has none.
        more_env: environment variables of what belongs to the key.
        model: the model taken where none is named; None if one must be named.
        base_url: address of its API; empty if one must be given.
        max_tokens: longest reply in tokens where nothing else is said.
        media: kinds of parts that it takes beside text.
        needs_key: whether it answers nobody without a key of ours. Bedrock's SDK may find one by itself.
        base_url_env: environment variable that replaces ``base_url``.
        always_reasons: whether thoughts are always captured and sent back, as it demands.
        efforts: the values of ``reasoning_effort`` that it knows.
    """

    id: str
    format: Format = "openai"
    env: str | None = None
    model: str | None = None
    base_url: str = ""
    max_tokens: int = 4096
    media: frozenset[str] = field(default=IMAGES)
    needs_key: bool = True
    base_url_env: str | None = None
    always_reasons: bool = False
    efforts: frozenset[Effort] = frozenset({"minimal", "low", "medium", "high"})
    more_env: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Environment variables of all secrets that it may be given."""
        return (*((self.env,) if self.env is not None else ()), *self.more_env)


_ALL = (
    Provider(
        "openrouter",
        env="OPENROUTER_API_KEY",
        model="anthropic/claude-sonnet-4",
        base_url="https://openrouter.ai/api/v1",
        max_tokens=8192,
        media=IMAGES | {"video"},
    ),
    Provider(
        "vercel",
        env="AI_GATEWAY_API_KEY",
        model="anthropic/claude-sonnet-4",
        base_url="https://ai-gateway.vercel.sh/v1",
        max_tokens=8192,
    ),
    Provider(
        "anthropic",
        "anthropic",
        env="ANTHROPIC_API_KEY",
        model="claude-sonnet-4-20250514",
        base_url="https://api.anthropic.com",
        max_tokens=8192,
        media=IMAGES | {"document"},
    ),
    Provider(
        "openai",
        env="OPENAI_API_KEY",
        model="gpt-4.1",
        base_url="https://api.openai.com/v1",
        media=IMAGES | {"document", "audio"},
    ),
    Provider(
        "gemini",
        env="GEMINI_API_KEY",
        model="gemini-2.5-flash",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        max_tokens=8192,
        media=IMAGES | {"audio"},
    ),
    Provider(
        "minimax",
        env="MINIMAX_API_KEY",
        model="MiniMax-M2.5",
        base_url="https://api.minimax.io/v1",
        max_tokens=8192,
    ),
    Provider(
        "kimi",
        env="MOONSHOT_API_KEY",
        model="kimi-k2.5",
        base_url="https://api.moonshot.ai/v1",
        max_tokens=8192,
    ),
    Provider(
        "glm",
        env="ZHIPUAI_API_KEY",
        model="glm-4-plus",
        base_url="https://open.bigmodel.cn/api/paas/v4/",
    ),
    Provider(
        "mimo",
        env="MIMO_API_KEY",
        model="mimo-v2.5",
        base_url="https://api.xiaomimimo.com/v1",
        base_url_env="MIMO_BASE_URL",
        max_tokens=8192,
        media=IMAGES | {"audio"},
        always_reasons=True,
        efforts=frozenset({"low", "medium", "high"}),
    ),
    Provider("ollama", base_url="http://localhost:11434/v1", needs_key=False),
    Provider("lmstudio", base_url="http://localhost:1234/v1", needs_key=False),
    Provider("openai-compat", env="OPENAI_COMPAT_API_KEY", needs_key=False),
    Provider(
        "bedrock",
        "bedrock",
        env="AWS_ACCESS_KEY_ID",
        model="anthropic.claude-3-5-sonnet-20241022-v2:0",
        max_tokens=8192,
        media=IMAGES | {"document", "video"},
        needs_key=False,
        more_env=("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    ),
)

PROVIDERS: Mapping[str, Provider] = {provider.id: provider for provider in _ALL}
"""All providers by id. ``openai-compat`` is any server whose address is given."""


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
    return [Availability(one.id, _may_be_used(one, keys), one.env, one.model) for one in _ALL]


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
        from agents.models.bedrock import BedrockModel

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
        from agents.models.anthropic import AnthropicModel

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
    from agents.models.openai_compatible import OpenAiCompatibleModel

    return OpenAiCompatibleModel(
        name,
        key,
        base_url=_base_url(known, base_url),
        dialect=_dialect(known, base_url),
        max_tokens=tokens,
        stream=stream,
        reasoning=_reasoning(known, reasoning, reasoning_effort, include_reasoning_in_text),
        cache=(known.id == "openrouter") if cache is None else cache,
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
    from agents.models.bedrock import AwsKeys

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


def _dialect(provider: Provider, base_url: str | None) -> Dialect:
    # OpenAI's newer models refuse the old field; whoever imitates OpenAI may not know the new one.
    field_name = "max_completion_tokens" if provider.id == "openai" and not base_url else "max_tokens"
    return Dialect(
        provider.id,
        provider.media,
        field_name,
        cache_marks=provider.id == "openrouter",
        wants_thoughts=provider.always_reasons,
    )


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
