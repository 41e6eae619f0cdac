"""How tests of adapters talk to their models, and what each adapter has to stand."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
from collections.abc import Generator
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, TextDelta
from agents.core.messages import Message, ModelResult
from agents.core.model import PromptRequest
from agents.models.sdk_model import SdkModel
from tests.agents.core.scene import Ear
from tests.agents.models.fake_server import FakeServer


def user(text: str, **fields: Any) -> Message:
    return Message(sender="user", text=text, **fields)


async def ask(model: SdkModel, *messages: Message, **fields: Any) -> tuple[ModelResult, list[AgentEvent]]:
    """One call, after which the model is closed."""
    ear = Ear()
    try:
        result = await model.prompt(PromptRequest("Be brief.", messages, **fields), ear.record, AbortToken())
    finally:
        await model.close()
    return result, ear.events


async def abort_at_first_word(server: FakeServer, model: SdkModel) -> None:
    """An abort in mid-reply ends the call, and the server sees that nobody listens any more."""
    abort = AbortToken()

    async def stop(event: AgentEvent) -> None:
        if isinstance(event, TextDelta):
            asyncio.get_running_loop().call_soon(abort.abort)

    with pytest.raises(Aborted):
        await model.prompt(PromptRequest("", [user("a story")]), stop, abort)
    async with asyncio.timeout(5):
        await server.client_left.wait()
    await model.close()


async def refusal(model: SdkModel, *secrets: str) -> GloveError:
    """The fault that a call ends in; ``secrets`` are neither in it nor in the log."""
    with _logged() as written, pytest.raises(GloveError) as refused:
        await ask(model, user("hi"))
    fault = refused.value
    told = f"{fault!r} {fault} {fault.remedy} {written.getvalue()}"
    assert not [secret for secret in secrets if secret in told]
    assert fault.__suppress_context__, "the SDK's exception carries the request"
    return fault


@contextlib.contextmanager
def _logged() -> Generator[io.StringIO]:
    """Everything that is logged, at any level."""
    written, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(written), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield written
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
