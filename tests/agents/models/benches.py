"""Every adapter with a scripted provider behind it: what the conformance suite and the sweeps run on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.core.model import ModelAdapter
from agents.models.anthropic import AnthropicModel
from agents.models.bedrock import AwsKeys, BedrockModel
from agents.models.conformance import Script
from agents.models.openai_compatible import OpenAiCompatibleModel
from agents.models.openai_request import Dialect, Reasoning
from agents.models.scripted import Call, Fail, Hang, Say, Step, tokens
from tests.agents.models import fake_anthropic, fake_bedrock, fake_openai
from tests.agents.models.fake_server import Answer, FakeServer

KEY = "sk-very-secret"


@dataclass(frozen=True)
class Format:
    """One wire format: its server, its adapter, and scripted replies as answers of that server."""

    server: type[FakeServer]
    adapter: Callable[..., ModelAdapter]
    frames: Callable[[Sequence[Step], bool], list[Any]]
    whole: Callable[[Sequence[Step]], Any]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def model(self, server: FakeServer, **options: Any) -> ModelAdapter:
        """The adapter, asking ``server``."""
        return self.adapter(server.url, **{"max_retries": 0, **self.options, **options})

    def answer(self, reply: Sequence[Step], stream: bool = True) -> Answer:
        """``reply`` as the server gives it."""
        broken = any(isinstance(step, Fail) for step in reply)
        hangs = any(isinstance(step, Hang) for step in reply)
        if stream:
            frames = self.frames(reply, not broken and not hangs)
            return Answer(frames, hang=hangs, drop=broken)
        if hangs or broken:
            return Answer(silent=True, hang=hangs)
        return Answer(body=self.whole(reply))

    def bench(self, stream: bool) -> Any:
        """What ``check_model`` wants."""

        @contextlib.asynccontextmanager
        async def serving(script: Script) -> AsyncIterator[ModelAdapter]:
            answers = [self.answer(reply, stream) for reply in script]
            async with self.server(answers).running() as server:
                model: Any = self.model(server, stream=stream)
                try:
                    yield model
                finally:
                    await model.close()

        return serving


def _anthropic_frames(reply: Sequence[Step], whole: bool) -> list[Any]:
    frames = [fake_anthropic.start()]
    for index, step in enumerate(reply):
        if isinstance(step, Say):
            said = fake_anthropic.text(index, *tokens(step.text))
            frames += said if whole else said[:-1]
        elif isinstance(step, Call):
            frames += fake_anthropic.call(index, f"toolu_{index}", step.tool_name, *_pieces(step.input_args))
    return [*frames, *fake_anthropic.end(_reason(reply))] if whole else frames


def _anthropic_whole(reply: Sequence[Step]) -> Any:
    return fake_anthropic.whole(
        *(
            {"type": "text", "text": step.text}
            if isinstance(step, Say)
            else {"type": "tool_use", "id": f"toolu_{index}", "name": step.tool_name, "input": step.input_args}
            for index, step in enumerate(reply)
            if isinstance(step, Say | Call)
        ),
        stop_reason=_reason(reply),
    ).body


def _openai_frames(reply: Sequence[Step], whole: bool) -> list[Any]:
    frames: list[Any] = []
    calls = 0
    for step in reply:
        if isinstance(step, Say):
            frames += [fake_openai.chunk(content=piece) for piece in tokens(step.text)]
        elif isinstance(step, Call):
            first, *rest = _pieces(step.input_args) or [""]
            frames.append(fake_openai.chunk(tool_calls=[fake_openai.call(calls, f"c{calls}", step.tool_name, first)]))
            frames += [fake_openai.chunk(tool_calls=[fake_openai.call(calls, arguments=piece)]) for piece in rest]
            calls += 1
    return [*frames, fake_openai.chunk("tool_calls" if calls else "stop"), fake_openai.usage()] if whole else frames


def _openai_whole(reply: Sequence[Step]) -> Any:
    calls = [
        {"id": f"c{index}", "type": "function", "function": {"name": step.tool_name, "arguments": _json(step)}}
        for index, step in enumerate(reply)
        if isinstance(step, Call)
    ]
    text = "".join(step.text for step in reply if isinstance(step, Say))
    return fake_openai.whole(content=text, **({"tool_calls": calls} if calls else {})).body


def _bedrock_frames(reply: Sequence[Step], whole: bool) -> list[Any]:
    frames = fake_bedrock.begin()
    for index, step in enumerate(reply):
        if isinstance(step, Say):
            said = fake_bedrock.text(index, *tokens(step.text))
            frames += said if whole else said[:-1]
        elif isinstance(step, Call):
            frames += fake_bedrock.call(index, f"tooluse_{index}", step.tool_name, *_pieces(step.input_args))
    return [*frames, *fake_bedrock.end(_reason(reply))] if whole else frames


def _bedrock_whole(reply: Sequence[Step]) -> Any:
    return fake_bedrock.whole(
        *(
            {"text": step.text}
            if isinstance(step, Say)
            else {"toolUse": {"toolUseId": f"t{index}", "name": step.tool_name, "input": step.input_args}}
            for index, step in enumerate(reply)
            if isinstance(step, Say | Call)
        ),
        stop_reason=_reason(reply),
    ).body


def _pieces(arguments: Any) -> list[str]:
    """Arguments as a provider streams them: in pieces, and nothing at all for none."""
    raw = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    return [raw[:4], raw[4:]] if raw else []


def _json(step: Call) -> str:
    return json.dumps(step.input_args)


def _reason(reply: Sequence[Step]) -> str:
    return "tool_use" if any(isinstance(step, Call) for step in reply) else "end_turn"


def _anthropic(url: str, **options: Any) -> ModelAdapter:
    return AnthropicModel("claude-test", KEY, base_url=url, **options)


def _openai(url: str, **options: Any) -> ModelAdapter:
    return OpenAiCompatibleModel("m-1", KEY, base_url=url, **options)


def _bedrock(url: str, **options: Any) -> ModelAdapter:
    keys = AwsKeys("AKIAVERYPRIVATE", "very-secret-key", "very-secret-session")
    return BedrockModel("us.anthropic.claude-sonnet-4-20250514-v1:0", keys, base_url=url, **options)


_ALL_MEDIA = frozenset({"image", "audio", "document", "video"})

FORMATS = {
    "anthropic": Format(fake_anthropic.FakeAnthropic, _anthropic, _anthropic_frames, _anthropic_whole),
    "anthropic, thinking": Format(
        fake_anthropic.FakeAnthropic, _anthropic, _anthropic_frames, _anthropic_whole, {"thinking": 2048, "cache": "1h"}
    ),
    "openai": Format(
        fake_openai.FakeOpenAi,
        _openai,
        _openai_frames,
        _openai_whole,
        {"dialect": Dialect("openai", _ALL_MEDIA, "max_completion_tokens")},
    ),
    "openrouter": Format(
        fake_openai.FakeOpenAi,
        _openai,
        _openai_frames,
        _openai_whole,
        {"dialect": Dialect("openrouter", cache_marks=True), "cache": True, "reasoning": Reasoning(effort="low")},
    ),
    "mimo": Format(
        fake_openai.FakeOpenAi,
        _openai,
        _openai_frames,
        _openai_whole,
        {"dialect": Dialect("mimo", wants_thoughts=True), "reasoning": True},
    ),
    "bedrock": Format(fake_bedrock.FakeBedrock, _bedrock, _bedrock_frames, _bedrock_whole),
    "bedrock, thinking": Format(
        fake_bedrock.FakeBedrock, _bedrock, _bedrock_frames, _bedrock_whole, {"thinking": 2048, "cache": "1h"}
    ),
}
