"""A model adapter that stands for a realtime model: the agent is spoken with, and its loop is never asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeGuard

from agents.base.errors import ConfigError
from agents.core.messages import ModelResult
from agents.core.model import ModelAdapter, Notify, PromptRequest

LABEL = "s2s-driven"


class S2SDrivenModel:
    """The placeholder.

    Attributes:
        name: the label.
        s2s: arguments of ``create_s2s_adapter``, from which a ``RealtimeAgent`` makes its adapter; None without any.
    """

    def __init__(self, label: str, s2s: Mapping[str, Any] | None) -> None:
        self.name = label
        self.s2s = s2s

    async def prompt(self, request: PromptRequest, notify: Notify, abort: object) -> ModelResult:
        """Always raises ``ConfigError`` (``ERR_S2S_DRIVEN``): a realtime model runs this agent."""
        self._refuse()

    def set_system_prompt(self, system_prompt: str) -> None:
        """Does nothing: the realtime session has its own instructions."""

    def _refuse(self) -> NoReturn:
        raise ConfigError(
            "ERR_S2S_DRIVEN",
            f"{self.name} is a placeholder for a realtime model and answers nothing by itself.",
            "Talk to the agent with RealtimeAgent, or give it a model.",
        )


def s2s_driven_model(label: str = LABEL, **s2s: Any) -> ModelAdapter:
    """A placeholder for an agent that only a realtime model runs.

    Args:
        label: its name.
        s2s: arguments of ``create_s2s_adapter``, if ``RealtimeAgent`` shall make its own adapter.
    """
    return S2SDrivenModel(label, MappingProxyType(dict(s2s)) if s2s else None)


def is_s2s_driven_model(model: object) -> TypeGuard[S2SDrivenModel]:
    """Whether ``model`` brings what an adapter is made from."""
    return isinstance(model, S2SDrivenModel) and model.s2s is not None
