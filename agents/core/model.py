"""The model contract: messages and tools in, deltas on the way, messages out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from agents.base.abort import AbortToken
from agents.base.errors import ConfigError
from agents.core.events import AgentEvent
from agents.core.messages import Message, ModelResult, new_reply_id

Notify = Callable[[AgentEvent], Awaitable[None]]


@dataclass(frozen=True)
class Sentences:
    """Sentence templates that call a tool when one matches a whole utterance; one language, in hassil's notation.

    Attributes:
        language: BCP-47 primary tag, for example ``en`` or ``de``.
        templates: for example ``("set [a] timer for {minutes} minute[s]",)``; slots name arguments of the tool.
        lists: slot name → text values, or a range ``(low, high)`` for numbers (digits and words both match).
        arguments: fixed arguments added to every match.
        hands_over: whether the model answers when the tool, called by one of these, cannot (its status is ``error``).
    """

    language: str
    templates: tuple[str, ...]
    lists: dict[str, tuple[str, ...] | tuple[int, int] | dict[str, Any]] = field(default_factory=dict[str, Any])
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    hands_over: bool = False


@dataclass(frozen=True)
class ToolSpec:
    """What a model sees of a tool: name, description, JSON Schema of the arguments, and its sentences if it has any."""

    name: str
    description: str
    parameters: dict[str, Any]
    sentences: tuple[Sentences, ...] = ()


@dataclass(frozen=True)
class PromptRequest:
    """One model call.

    Attributes:
        system_prompt: stable instructions.
        messages: oldest first.
        tools: what may be called.
        reply_id: the id that the reply's message and its deltas must carry.
        language: the language of the last user turn (BCP-47 primary tag) where it is known.
    """

    system_prompt: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    reply_id: str = field(default_factory=new_reply_id)
    language: str | None = None


class ModelAdapter(Protocol):
    """A language model.

    Streaming adapters notify ``TextDelta``… ``ToolUse``… ``ModelResponseComplete``; others notify ``ModelResponse``.
    ``renderData``, ``summary`` and durations are never sent to a provider.
    """

    @property
    def name(self) -> str:
        """For example ``anthropic:claude-…``."""
        ...

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``. Raises ``Aborted`` when stopped and ``GloveError`` for provider faults."""
        ...


def checked_model(model: ModelAdapter) -> ModelAdapter:
    """``model`` itself. Raises ``ConfigError`` (``ERR_MODEL_ADAPTER``) for what is none, such as a model's name."""
    if not callable(getattr(model, "prompt", None)):
        raise ConfigError(
            "ERR_MODEL_ADAPTER",
            f"An agent needs a model adapter, not a value of type {type(model).__name__}.",
            'Make one of a name with agents.models.providers: create_adapter("anthropic", name).',
        )
    return model


@runtime_checkable
class ConnectedModel(Protocol):
    """A model adapter that has something to get ready before the first call, and to close after the last."""

    async def warm(self) -> None:
        """Do now what the first call would wait for; no request is sent. Idempotent."""
        ...

    async def close(self) -> None:
        """Close connections; idempotent. A later call opens new ones."""
        ...
