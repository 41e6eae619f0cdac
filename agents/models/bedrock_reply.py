"""A reply of Bedrock's Converse, put together event by event or taken whole."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall
from agents.models.arguments import parse_arguments
from agents.models.bedrock_request import PROVIDER
from agents.models.faults import unreachable
from agents.models.progress import Progress
from agents.models.sdk_model import MAX_REPLY_BYTES


@dataclass
class _Thought:
    """A reasoning block while its pieces arrive."""

    text: str = ""
    signature: str = ""
    redacted: bytes = b""

    def stored(self) -> dict[str, str]:
        """The block in JSON, as it is sent back."""
        if self.redacted:
            return {"redacted": base64.b64encode(self.redacted).decode()}
        return {"text": self.text, **({"signature": self.signature} if self.signature else {})}


@dataclass
class _Call:
    """A tool call while its pieces arrive."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])


class ReplyBuilder:
    """Takes a reply (the SDK's dictionaries) and tells what subscribers should hear of it.

    Args:
        reply_id: id of the reply's message.
        model: id of the model, which alone may read its thoughts again.
    """

    def __init__(self, reply_id: str, model: str) -> None:
        self._reply_id = reply_id
        self._model = model
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._open: dict[int, _Call] = {}
        self._thoughts: dict[int, _Thought] = {}
        self._usage = TokenUsage()
        self._stop_reason: str | None = None
        self._progress = Progress(reply_id)
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether the provider said that the reply has ended, and no tool call was left open."""
        return self._stop_reason is not None and not self._open

    def take(self, event: dict[str, Any]) -> list[AgentEvent]:
        """Add one event of a stream; returns what to notify."""
        for kind, body in event.items():
            match kind:
                case "contentBlockStart":
                    if call := body["start"].get("toolUse"):
                        self._open[body["contentBlockIndex"]] = _Call(call["toolUseId"], call["name"])
                case "contentBlockDelta":
                    return self._delta(body["contentBlockIndex"], body["delta"])
                case "contentBlockStop":
                    return self._end_of_block(body["contentBlockIndex"])
                case "messageStop":
                    self._stop_reason = body["stopReason"]
                case "metadata":
                    self._count(body.get("usage") or {})
                case _:
                    # Kinds of events may be added to the protocol; those unknown here carry nothing of the reply.
                    pass
        return []

    def end(self) -> list[AgentEvent]:
        """The event that ends a streamed reply."""
        return [ModelResponseComplete("".join(self._text), self._reply_id, tuple(self._calls), self._stop_reason)]

    def whole(self, response: dict[str, Any]) -> list[AgentEvent]:
        """Take a reply that was not streamed; returns what to notify."""
        self._stop_reason = response["stopReason"]
        self._count(response.get("usage") or {})
        for index, block in enumerate(response["output"]["message"]["content"]):
            if "text" in block:
                self._text.append(block["text"])
            elif call := block.get("toolUse"):
                self._add_call(ToolCall(tool_name=call["name"], input_args=call["input"] or {}, id=call["toolUseId"]))
            elif thought := block.get("reasoningContent"):
                self._think(index, thought.get("reasoningText") or thought)
        return [ModelResponse("".join(self._text), self._reply_id, tuple(self._calls), self._stop_reason)]

    def result(self) -> ModelResult:
        """The whole reply."""
        message = Message(
            sender="agent", text="".join(self._text), id=self._reply_id, tool_calls=list(self._calls) or None
        )
        if self._thoughts:
            thoughts = [thought for _, thought in sorted(self._thoughts.items())]
            message.reasoning_content = "\n".join(one.text for one in thoughts if one.text) or None
            blocks = [thought.stored() for thought in thoughts]
            message.provider_options = {PROVIDER: {"model": self._model, "reasoning": blocks}}
        return ModelResult(messages=[message], usage=self._usage, stop_reason=self._stop_reason)

    def _delta(self, index: int, delta: dict[str, Any]) -> list[AgentEvent]:
        if text := delta.get("text"):
            self._weigh(text)
            self._text.append(text)
            return [TextDelta(text, self._reply_id)]
        if piece := delta.get("toolUse"):
            self._weigh(piece["input"])
            self._open[index].arguments.append(piece["input"])
        elif thought := delta.get("reasoningContent"):
            self._think(index, thought)
        return self._progress.events()

    def _end_of_block(self, index: int) -> list[AgentEvent]:
        call = self._open.pop(index, None)
        if call is None:
            return []
        arguments = parse_arguments("".join(call.arguments))
        return self._add_call(ToolCall(tool_name=call.name, input_args=arguments, id=call.id))

    def _add_call(self, call: ToolCall) -> list[AgentEvent]:
        self._calls.append(call)
        return [ToolUse(call.id or "", call.tool_name, call.input_args)]

    def _think(self, index: int, piece: dict[str, Any]) -> None:
        thought = self._thoughts.setdefault(index, _Thought())
        thought.text += piece.get("text") or ""
        thought.signature += piece.get("signature") or ""
        thought.redacted += piece.get("redactedContent") or b""
        self._weigh(piece.get("text") or piece.get("redactedContent") or "")

    def _weigh(self, piece: str | bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_REPLY_BYTES:
            raise unreachable("The model's reply does not end.")

    def _count(self, usage: dict[str, Any]) -> None:
        """Take over counts; the last word stands."""
        self._usage = TokenUsage(
            tokens_in=usage.get("inputTokens") or 0,
            tokens_out=usage.get("outputTokens") or 0,
            cache_creation_input_tokens=usage.get("cacheWriteInputTokens") or 0,
            cache_read_input_tokens=usage.get("cacheReadInputTokens") or 0,
        )
