"""The providers that are known by name, and what sets each of them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agents.models import anthropic, anthropic_request, bedrock, bedrock_media, openai_compatible
from agents.models.openai_request import IMAGES, Dialect, Effort

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
        token_field: name of the field that limits the length of a reply, at its own address.
        cache_marks: whether it reads Anthropic's marks of where a prompt may be cached.
    """

    id: str
    format: Format = "openai"
    env: str | None = None
    model: str | None = None
    base_url: str = ""
    max_tokens: int = openai_compatible.DEFAULT_MAX_TOKENS
    media: frozenset[str] = field(default=IMAGES)
    needs_key: bool = True
    base_url_env: str | None = None
    always_reasons: bool = False
    efforts: frozenset[Effort] = frozenset({"minimal", "low", "medium", "high"})
    more_env: tuple[str, ...] = ()
    token_field: str = "max_tokens"
    cache_marks: bool = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """Environment variables of all secrets that it may be given."""
        return (*((self.env,) if self.env is not None else ()), *self.more_env)

    def dialect(self, base_url: str | None = None) -> Dialect:
        """Its way with Chat Completions; ``base_url`` is where somebody else speaks it, or None."""
        # OpenAI's newer models refuse the old field; whoever imitates OpenAI may not know the new one.
        return Dialect(
            self.id,
            self.media,
            "max_tokens" if base_url else self.token_field,
            cache_marks=self.cache_marks,
            wants_thoughts=self.always_reasons,
        )


_ALL = (
    Provider(
        "openrouter",
        env="OPENROUTER_API_KEY",
        model="anthropic/claude-sonnet-4",
        base_url="https://openrouter.ai/api/v1",
        max_tokens=8192,
        media=IMAGES | {"video"},
        cache_marks=True,
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
        model=anthropic.DEFAULT_MODEL,
        base_url="https://api.anthropic.com",
        max_tokens=anthropic.DEFAULT_MAX_TOKENS,
        media=anthropic_request.MEDIA,
    ),
    Provider(
        "openai",
        env="OPENAI_API_KEY",
        model="gpt-4.1",
        base_url="https://api.openai.com/v1",
        media=IMAGES | {"document", "audio"},
        token_field="max_completion_tokens",
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
        model=bedrock.DEFAULT_MODEL,
        max_tokens=bedrock.DEFAULT_MAX_TOKENS,
        media=bedrock_media.MEDIA,
        needs_key=False,
        more_env=("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    ),
)

PROVIDERS: Mapping[str, Provider] = {provider.id: provider for provider in _ALL}
"""All providers by id. ``openai-compat`` is any server whose address is given."""
