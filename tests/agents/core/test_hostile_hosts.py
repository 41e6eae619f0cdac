"""Code of the host that goes wrong costs one answer at most: never the caller, the agent, or what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.clock import now
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelResponseComplete, TextDelta
from agents.core.glove import Glove
from agents.core.subscribers import RECORD_LIMIT_S
from agents.core.tool import ToolContext
from agents.models.scripted import Call, ScriptedModel
from agents.testing import left_behind
from tests.agents.core.scene import Ear, story, tool


async def cancels_itself(*_: object) -> Any:
    raise asyncio.CancelledError


class CancellingModel:
    """An adapter out of whose library a stray cancellation comes."""

    name = "cancelling"
    prompt = staticmethod(cancels_itself)


def _provider(glove: Glove) -> None:
    glove.add_context_provider(cancels_itself)


HOSTS: dict[str, Callable[[Glove], object]] = {
    "model": lambda glove: glove.set_model(CancellingModel()),
    "hook": lambda glove: glove.define_hook("go", cancels_itself),
    "skill": lambda glove: glove.define_skill("go", cancels_itself),
    "preparer": lambda glove: glove.add_turn_preparer(cancels_itself),
    "provider": _provider,
}


@pytest.mark.parametrize("host", HOSTS)
async def test_a_stray_cancellation_does_not_cancel_the_caller(host: str) -> None:
    glove = Glove(model=ScriptedModel(lambda _: "Hi.")).build()
    HOSTS[host](glove)
    with pytest.raises(GloveError) as fault:
        await glove.process_request("/go now")
    assert fault.value.code == "ERR_STOPPED_ITSELF"
    lines = await story(glove.store)
    assert len(lines) == 1 and lines[0].endswith("now")
    await asyncio.sleep(1)
    assert left_behind() == []


class Cancelling:
    """A subscriber out of which a stray cancellation comes."""

    async def record(self, event: AgentEvent) -> None:
        raise asyncio.CancelledError


async def test_a_subscriber_that_cancels_itself_is_passed_over() -> None:
    ear = Ear()
    glove = Glove(model=ScriptedModel(["Hi there."])).add_subscriber(Cancelling()).add_subscriber(ear).build()
    assert (await glove.process_request("hello")).text == "Hi there."
    assert ear.of(ModelResponseComplete)


class Stuck:
    """A subscriber that never comes back from the first event."""

    def __init__(self) -> None:
        self.recorded = 0

    async def record(self, event: AgentEvent) -> None:
        self.recorded += 1
        if self.recorded == 1:
            await asyncio.Event().wait()


async def test_a_subscriber_that_never_comes_back_does_not_hang_the_turn() -> None:
    ear, stuck = Ear(), Stuck()
    glove = Glove(model=ScriptedModel(["Hi there."])).add_subscriber(stuck).add_subscriber(ear).build()
    assert (await glove.process_request("hello")).text == "Hi there."
    assert RECORD_LIMIT_S <= now() < RECORD_LIMIT_S + 1
    assert len(ear.of(TextDelta)) == 2
    assert stuck.recorded > 1


async def test_a_turn_can_be_stopped_while_a_subscriber_is_stuck() -> None:
    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, abort.abort)
    glove = Glove(model=ScriptedModel(["Hi there."])).add_subscriber(Stuck()).build()
    with pytest.raises(Aborted):
        await glove.process_request("hello", abort)
    assert now() < 3


@pytest.mark.parametrize("what", ["recover", "compact", "process_request"])
async def test_what_would_wait_for_the_turn_it_runs_in_is_refused(what: str) -> None:
    async def call(_: Any, context: ToolContext) -> None:
        work = {
            "recover": context.glove.recover,
            "compact": context.glove.compact,
            "process_request": lambda: context.glove.process_request("and?"),
        }
        await work[what]()

    model = ScriptedModel([[Call("call")], "I could not."])
    glove = Glove(model=model, max_retries=0).fold(tool("call", call)).build()
    async with asyncio.timeout(10):
        assert (await glove.process_request("go")).text == "I could not."
    assert await story(glove.store) == ["user: go", "agent:  +call", "results: call=error", "agent: I could not."]


@pytest.mark.parametrize("request_", [None, 3, b"bytes", ["text"], [None], [{"type": "noise"}], {"type": "text"}])
async def test_what_is_no_request_is_refused_and_nothing_is_stored(request_: Any) -> None:
    glove = Glove(model=ScriptedModel(["Hi."])).build()
    with pytest.raises(GloveError) as refused:
        await glove.process_request(request_)
    assert refused.value.code == "ERR_CONTENT"
    assert await story(glove.store) == []
    assert (await glove.process_request("hello")).text == "Hi."


async def test_a_skill_that_returns_no_content_says_which() -> None:
    skill: Any = lambda _: 42  # noqa: E731
    glove = Glove(model=ScriptedModel()).define_skill("odd", skill).build()
    with pytest.raises(GloveError, match="'odd'"):
        await glove.process_request("/odd")
    assert await story(glove.store) == ["user: /odd"]
