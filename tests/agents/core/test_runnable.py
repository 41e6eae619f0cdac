"""Whoever wraps an agent passes everything on, and is told so when something is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.abort import AbortToken
from agents.core.glove import Glove
from agents.core.runnable import Runnable
from agents.core.runnable_conformance import check_forwarding
from agents.models.scripted import ScriptedModel


class Wrapper:
    """Passes on everything that it does not define itself."""

    def __init__(self, agent: Runnable) -> None:
        self.agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)


class LosesOptions(Wrapper):
    def add_context_provider(self, provider: Any, **_: Any) -> Callable[[], None]:
        return self.agent.add_context_provider(provider)


class LosesExpiry(Wrapper):
    async def emit_event(self, expires_at: Any, **event: Any) -> Any:
        return await self.agent.emit_event(**event)


class LosesRemoval(Wrapper):
    def add_turn_preparer(self, preparer: Any) -> Callable[[], None]:
        self.agent.add_turn_preparer(preparer)
        return lambda: None


class LosesAnswers(Wrapper):
    async def get_runtime_context(self, abort: AbortToken | None = None, delivery: Any = None) -> list[Any]:
        return (await self.agent.get_runtime_context(abort, delivery))[:0]


def test_an_agent_is_runnable() -> None:
    glove: Runnable = Glove(model=ScriptedModel()).build()
    assert isinstance(glove, Runnable)


async def test_a_wrapper_that_passes_everything_on_is_found_good() -> None:
    await check_forwarding(lambda agent: agent)
    await check_forwarding(Wrapper)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrapper", "method"),
    [
        (LosesOptions, "add_context_provider"),
        (LosesExpiry, "emit_event"),
        (LosesRemoval, "add_turn_preparer"),
        (LosesAnswers, "get_runtime_context"),
    ],
)
async def test_a_wrapper_that_loses_something_is_found_out(wrapper: Any, method: str) -> None:
    with pytest.raises(AssertionError, match=method):
        await check_forwarding(wrapper)
