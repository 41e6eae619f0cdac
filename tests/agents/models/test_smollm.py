"""The small model: says what it is, streams, stops when told, and fails honestly."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import ConfigError, GloveError
from agents.core.events import AgentEvent, ModelResponseComplete, TextDelta
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.models.smollm import SmolLmModel


class FakeRuntime:
    def __init__(self, words: list[str], fault: Exception | None = None) -> None:
        self.words, self.fault = words, fault
        self.requests: list[dict[str, Any]] = []
        self.handed_over = 0
        self.stopped = threading.Event()

    def handle_chat_completions(self, request: dict[str, Any], callback: Callable[[dict[str, Any]], bool]) -> None:
        self.requests.append(request)
        if self.fault is not None:
            raise self.fault
        for word in self.words:
            self.handed_over += 1
            if callback({"choices": [{"delta": {"content": word}}]}):
                self.stopped.set()
                return
        callback({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(self.words)}})


async def _ask(
    model: SmolLmModel,
    history: list[Message],
    abort: AbortToken | None = None,
    on_delta: Callable[[], None] | None = None,
) -> tuple[Message, list[AgentEvent], Any]:
    events: list[AgentEvent] = []

    async def notify(event: AgentEvent) -> None:
        events.append(event)
        if on_delta is not None and len(events) == 3:
            on_delta()

    request = PromptRequest("", [*history, Message(sender="user", text="Hello")], (), "reply_3", "en")
    result = await model.prompt(request, notify, abort or AbortToken())
    return result.messages[0], events, result.usage


async def test_first_answer_says_that_a_very_small_model_answers() -> None:
    runtime = FakeRuntime(["I", " am", " here."])
    model = SmolLmModel(load=lambda: runtime)
    first, events, usage = await _ask(model, [])
    assert first.text == "A very small model is answering, and it makes mistakes. I am here."
    assert [event.text for event in events if isinstance(event, TextDelta)][1:] == ["I", " am", " here."]
    assert isinstance(events[-1], ModelResponseComplete)
    assert (usage.tokens_in, usage.tokens_out) == (9, 3)
    second, _, _ = await _ask(model, [Message(sender="user", text="Hi"), first])
    assert second.text == "I am here."
    chat = runtime.requests[1]["messages"]
    assert [entry["role"] for entry in chat] == ["system", "user", "assistant", "user"]
    assert chat[2]["content"] == "I am here."


async def test_an_interruption_stops_between_tokens() -> None:
    runtime = FakeRuntime(["word "] * 100_000)
    abort = AbortToken()
    with pytest.raises(Aborted):
        await _ask(SmolLmModel(load=lambda: runtime), [], abort, lambda: abort.abort("interrupted"))
    assert runtime.stopped.wait(5)
    assert runtime.handed_over < 100_000


async def test_a_failing_runtime_is_a_named_fault() -> None:
    with pytest.raises(GloveError) as caught:
        await _ask(SmolLmModel(load=lambda: FakeRuntime([], RuntimeError("no memory"))), [])
    assert caught.value.code == "ERR_MODEL_FAILED"


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", not_installed)
    with pytest.raises(ConfigError) as caught:
        SmolLmModel()
    assert "smollm" in (caught.value.remedy or "")
