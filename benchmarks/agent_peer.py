"""The peer of ``agent_loop``: pydantic-ai holds the same conversation. Run by the interpreter it is installed for.

    PEER/bin/python benchmarks/agent_peer.py whole|streamed

Prints its version and a list of milliseconds per model call as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import agent_script as script
from pydantic_ai import Agent  # type: ignore[import-not-found]
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart  # type: ignore[import-not-found]
from pydantic_ai.models.function import DeltaToolCall, FunctionModel  # type: ignore[import-not-found]


def _wants_tool(messages: list[Any]) -> bool:
    newest = messages[-1].parts[-1]
    return not isinstance(newest, ToolReturnPart) and "timer" in str(newest.content)


def _whole(messages: list[Any], _: Any) -> Any:
    if _wants_tool(messages):
        return ModelResponse(parts=[TextPart(script.BEFORE_THE_TOOL), ToolCallPart(script.TOOL, script.TOOL_ARGUMENTS)])
    return ModelResponse(parts=[TextPart(script.ANSWER)])


async def _streamed(messages: list[Any], _: Any) -> AsyncIterator[Any]:
    wants_tool = _wants_tool(messages)
    for word in (script.BEFORE_THE_TOOL if wants_tool else script.ANSWER).split(" "):
        yield f"{word} "
    if wants_tool:
        yield {1: DeltaToolCall(name=script.TOOL, json_args=json.dumps(script.TOOL_ARGUMENTS))}


async def _listen(_: Any, events: Any) -> None:
    async for _event in events:
        pass


async def main(mode: str) -> list[tuple[float, float]]:
    """Hold the conversations; returns milliseconds per model call without the first conversation."""
    agent = Agent(FunctionModel(_whole, stream_function=_streamed), instructions=script.SYSTEM_PROMPT)

    @agent.tool_plain
    async def set_timer(minutes: int, label: str) -> dict[str, str]:
        """Set a timer."""
        assert minutes == script.TOOL_ARGUMENTS["minutes"]
        return script.TOOL_RESULT

    times_ms: list[tuple[float, float]] = []
    for number in range(script.CONVERSATIONS):
        history: list[Any] = []

        async def say(text: str) -> None:
            nonlocal history
            run = await agent.run(
                text, message_history=history, event_stream_handler=_listen if mode == "streamed" else None
            )
            history = run.all_messages()
            assert run.output.strip() == script.ANSWER

        timed = await script.time_conversation(say)
        times_ms += timed if number else []
    return times_ms


if __name__ == "__main__":
    print(json.dumps({"version": version("pydantic-ai-slim"), "times_ms": asyncio.run(main(sys.argv[1]))}))
