"""A reply of Anthropic's Messages format, put together event by event or taken whole."""

from __future__ import annotations

from typing import Any

from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall
from agents.models.anthropic_request import PROVIDER
from agents.models.arguments import parse_arguments
from agents.models.progress import Progress

_USAGE = {
    "input_tokens": "tokens_in",
    "output_tokens": "tokens_out",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
    "cache_read_input_tokens": "cache_read_input_tokens",
}


class ReplyBuilder:
    """Takes a reply (the SDK's objects, duck-typed) and tells what subscribers should hear of it."""

    def __init__(self, reply_id: str) -> None:
        self._reply_id = reply_id
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._thinking: list[dict[str, Any]] = []
        self._block: dict[str, Any] = {}
        self._json: list[str] = []
        self._usage: dict[str, int] = {}
        self._stop_reason: str | None = None
        self._stopped = False
        self._progress = Progress(reply_id)

    @property
    def complete(self) -> bool:
        """Whether the provider said that the reply has ended, and no block was left open."""
        return self._stopped and not self._block

    def take(self, event: Any) -> list[AgentEvent]:
        """Add one event of a stream; returns what to notify."""
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start":
                return self._begin_block(event.content_block.model_dump(exclude_none=True))
            case "content_block_delta":
                return self._delta(event.delta)
            case "content_block_stop":
                return self._end_of_block()
            case "message_delta":
                self._count(event.usage)
                self._stop_reason = event.delta.stop_reason or self._stop_reason
            case "message_stop":
                self._stopped = True
            case _:
                # Kinds of events may be added to the protocol; those unknown here carry nothing of the reply.
                pass
        return []

    def end(self) -> list[AgentEvent]:
        """The event that ends a streamed reply."""
        return [ModelResponseComplete("".join(self._text), self._reply_id, tuple(self._calls), self._stop_reason)]

    def whole(self, response: Any) -> list[AgentEvent]:
        """Take a reply that was not streamed; returns what to notify."""
        self._count(response.usage)
        self._stop_reason = response.stop_reason
        for block in response.content:
            self._begin_block(block.model_dump(exclude_none=True))
            self._end_of_block()
        return [ModelResponse("".join(self._text), self._reply_id, tuple(self._calls), self._stop_reason)]

    def result(self) -> ModelResult:
        """The whole reply."""
        message = Message(
            sender="agent", text="".join(self._text), id=self._reply_id, tool_calls=list(self._calls) or None
        )
        if self._thinking:
            thoughts = [block["thinking"] for block in self._thinking if block.get("thinking")]
            message.reasoning_content = "\n".join(thoughts) or None
            message.provider_options = {PROVIDER: {"thinking": self._thinking}}
        return ModelResult(
            messages=[message], usage=TokenUsage.model_validate(self._usage), stop_reason=self._stop_reason
        )

    def _begin_block(self, block: dict[str, Any]) -> list[AgentEvent]:
        self._block = block
        self._json = []
        if text := block.get("text"):
            return self._said(text)
        return []

    def _delta(self, delta: Any) -> list[AgentEvent]:
        match delta.type:
            case "text_delta":
                return self._said(delta.text)
            case "input_json_delta":
                self._json.append(delta.partial_json)
            case "thinking_delta":
                self._block["thinking"] = self._block.get("thinking", "") + delta.thinking
            case "signature_delta":
                self._block["signature"] = delta.signature
            case _:
                # Citations and the like: nothing that is said or done.
                pass
        return self._progress.events()

    def _said(self, text: str) -> list[AgentEvent]:
        self._text.append(text)
        return [TextDelta(text, self._reply_id)]

    def _end_of_block(self) -> list[AgentEvent]:
        block, self._block = self._block, {}
        if block.get("type") in ("thinking", "redacted_thinking"):
            self._thinking.append(block)
        if block.get("type") != "tool_use":
            return []
        arguments = parse_arguments("".join(self._json), block.get("input"))
        call = ToolCall(tool_name=block["name"], input_args=arguments, id=block["id"])
        self._calls.append(call)
        return [ToolUse(call.id or "", call.tool_name, call.input_args)]

    def _count(self, usage: Any) -> None:
        """Counts are cumulative: the last word stands."""
        for theirs, ours in _USAGE.items():
            value = getattr(usage, theirs, None)
            if value is not None:
                self._usage[ours] = value
