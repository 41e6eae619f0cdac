"""All adapters do what adapters must do; and the suite notices those that do not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelResponseComplete, TextDelta
from agents.core.messages import ModelResult
from agents.core.model import ModelAdapter, Notify, PromptRequest
from agents.models import conformance
from agents.models.conformance import Bench, Check, Script, check_model
from agents.models.fallback import FallbackModel
from agents.models.scripted import Fail, ScriptedModel
from tests.agents.models.benches import FORMATS


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("name", "stream"),
    [*((name, True) for name in FORMATS), *((name, False) for name in ("anthropic", "openai", "bedrock"))],
)
async def test_adapters_of_sdks_conform(name: str, stream: bool) -> None:
    assert len(await check_model(FORMATS[name].bench(stream))) == len(conformance.CHECKS)


def _scripted(script: Script) -> ScriptedModel:
    failing = GloveError("ERR_MODEL_UNREACHABLE", "It is gone.")
    replies = [[replace(step, error=failing) if isinstance(step, Fail) else step for step in reply] for reply in script]
    return ScriptedModel(replies)


@contextlib.asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[ModelAdapter]:
    yield _scripted(script)


async def test_the_scripted_model_conforms() -> None:
    await check_model(scripted)


async def test_a_model_with_another_behind_it_conforms() -> None:
    @contextlib.asynccontextmanager
    async def bench(script: Script) -> AsyncIterator[ModelAdapter]:
        # A failure of the one is answered by the other; both failing is what the suite asks for.
        yield FallbackModel(_scripted(script), ScriptedModel([], name="empty"))

    await check_model(bench)


class Wrong:
    """The scripted model with one mistake."""

    name = "wrong"

    def __init__(self, script: Script, mistake: Mistake) -> None:
        self._inner = _scripted(script)
        self._mistake = mistake

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        return await self._mistake(self._inner, request, notify, abort)


Mistake = Callable[[ScriptedModel, PromptRequest, Notify, AbortToken], Awaitable[ModelResult]]


async def _renames(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    return await inner.prompt(replace(request, reply_id="mine"), notify, abort)


async def _drops_pieces(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    async def some(event: AgentEvent) -> None:
        if not (isinstance(event, TextDelta) and event.text.startswith("everybody")):
            await notify(event)

    return await inner.prompt(request, some, abort)


async def _ends_twice(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    result = await inner.prompt(request, notify, abort)
    await notify(ModelResponseComplete(result.messages[0].text, request.reply_id))
    return result


async def _leaves_json(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    result = await inner.prompt(request, notify, abort)
    for call in result.messages[0].tool_calls or ():
        call.input_args = str(call.input_args)
    return result


async def _deaf(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    return await inner.prompt(request, notify, AbortToken())


async def _calls_it_an_abort(
    inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken
) -> ModelResult:
    try:
        return await inner.prompt(request, notify, abort)
    except asyncio.CancelledError:
        raise Aborted from None


async def _swallows(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    async def quietly(event: AgentEvent) -> None:
        with contextlib.suppress(ArithmeticError):
            await notify(event)

    return await inner.prompt(request, quietly, abort)


async def _writes_on(inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
    for message in request.messages:
        message.id = "seen"
    return await inner.prompt(request, notify, abort)


async def _lets_faults_through(
    inner: ScriptedModel, request: PromptRequest, notify: Notify, abort: AbortToken
) -> ModelResult:
    try:
        return await inner.prompt(request, notify, abort)
    except GloveError as fault:
        raise RuntimeError("503") from fault


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        (_renames, conformance.streams_text),
        (_drops_pieces, conformance.streams_text),
        (_ends_twice, conformance.streams_text),
        (_leaves_json, conformance.reports_calls),
        (_writes_on, conformance.answers_any_history),
        (_deaf, conformance.stops_at_once),
        (_deaf, conformance.does_not_begin_aborted),
        (_calls_it_an_abort, conformance.passes_cancellation_on),
        (_lets_faults_through, conformance.names_failures),
        (_swallows, conformance.lets_readers_fail),
        (_renames, conformance.keeps_requests_apart),
    ],
)
async def test_the_suite_notices_mistakes(mistake: Mistake, check: Check) -> None:
    @contextlib.asynccontextmanager
    async def bench(script: Script) -> AsyncIterator[Any]:
        yield Wrong(script, mistake)

    given: Bench = bench
    with pytest.raises((AssertionError, RuntimeError, TimeoutError)):
        async with asyncio.timeout(conformance.PATIENCE_S):
            await check(given)
