"""A reply in the Chat Completions format, put together chunk by chunk or taken whole."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall
from agents.models.arguments import parse_arguments
from agents.models.progress import Progress
from agents.models.think_tags import ThinkTags


@dataclass
class _Call:
    """A tool call while its pieces arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    state: Any = None


@dataclass
class _Draft:
    """What has arrived of a reply."""

    text: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[_Call] = field(default_factory=list[_Call])
    places: dict[int, _Call] = field(default_factory=dict[int, _Call])


class ReplyBuilder:
    """Takes a reply (the SDK's objects, duck-typed) and tells what subscribers should hear of it.

    Args:
        reply_id: id of the reply's message.
        provider: where state that the provider attached to calls is filed.
        capture: whether thoughts are kept.
        include_in_text: whether thoughts become part of the text.
    """

    def __init__(self, reply_id: str, provider: str, *, capture: bool = False, include_in_text: bool = False) -> None:
        self._reply_id = reply_id
        self._provider = provider
        self._capture = capture
        self._include = include_in_text
        self._draft = _Draft()
        self._tags = ThinkTags()
        self._usage = TokenUsage()
        self._finish_reason: str | None = None
        self._progress = Progress(reply_id)

    @property
    def complete(self) -> bool:
        """Whether the provider said that the reply has ended."""
        return self._finish_reason is not None

    def take(self, event: Any) -> list[AgentEvent]:
        """Add one chunk of a stream; returns what to notify."""
        self._count(getattr(event, "usage", None))
        events: list[AgentEvent] = []
        for choice in (event.choices or ())[:1]:
            if choice.delta is not None:
                events = self._add(choice.delta)
            self._finish_reason = choice.finish_reason or self._finish_reason
        return events

    def end(self) -> list[AgentEvent]:
        """The last text, the tool calls and the end of a streamed reply, to notify in this order."""
        events = self._said(*self._tags.end())
        calls = self._tool_calls()
        events += [ToolUse(call.id or "", call.tool_name, call.input_args) for call in calls]
        return [*events, ModelResponseComplete(self._text(), self._reply_id, tuple(calls), self._stop_reason())]

    def whole(self, response: Any) -> list[AgentEvent]:
        """Take a reply that was not streamed; returns what to notify. One without a choice is empty."""
        self._count(getattr(response, "usage", None))
        for choice in (response.choices or ())[:1]:
            self._add(choice.message)
            self._finish_reason = choice.finish_reason
        self._said(*self._tags.end())
        return [ModelResponse(self._text(), self._reply_id, tuple(self._tool_calls()), self._stop_reason())]

    def result(self) -> ModelResult:
        """The whole reply."""
        thoughts = "".join(self._draft.thoughts)
        message = Message(
            sender="agent",
            text=self._text(),
            id=self._reply_id,
            tool_calls=self._tool_calls() or None,
            reasoning_content=thoughts if thoughts and self._capture else None,
        )
        return ModelResult(messages=[message], usage=self._usage, stop_reason=self._stop_reason())

    def _add(self, delta: Any) -> list[AgentEvent]:
        """Add what a chunk or a whole message holds."""
        thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        events = self._said(thought if isinstance(thought, str) else "", "")
        if isinstance(content := delta.content, str) and content:
            events += self._said(*self._tags.take(content))
        elif refusal := getattr(delta, "refusal", None):
            events += self._said("", str(refusal))
        for position, piece in enumerate(delta.tool_calls or ()):
            self._add_call(piece, getattr(piece, "index", None), position)
        at_work = bool(thought or content or delta.tool_calls)
        if at_work and not any(isinstance(event, TextDelta) for event in events):
            events += self._progress.events()
        return events

    def _said(self, thought: str, text: str) -> list[AgentEvent]:
        pieces: list[str] = []
        if thought:
            self._draft.thoughts.append(thought)
            pieces += [thought] if self._include else []
        if text:
            self._draft.text.append(text)
            pieces.append(text)
        return [TextDelta(piece, self._reply_id) for piece in pieces]

    def _add_call(self, piece: Any, index: int | None, position: int) -> None:
        """Add a piece of a tool call, found by its index.

        A new id with a new name is a new call even under a known index: some servers number all calls zero.
        """
        draft = self._draft
        function = piece.function
        place = position if index is None else index
        call = draft.places.get(place)
        name = (function.name or "") if function is not None else ""
        if call is None or (piece.id and name and call.id and piece.id != call.id):
            call = draft.places[place] = _Call()
            draft.calls.append(call)
        call.id = piece.id or call.id
        call.name = name or call.name
        call.arguments += (function.arguments or "") if function is not None else ""
        call.state = getattr(piece, "extra_content", None) or call.state

    def _tool_calls(self) -> list[ToolCall]:
        calls: list[ToolCall] = []
        for call in self._draft.calls:
            call.id = call.id or f"call_{uuid.uuid4().hex}"
            state = {self._provider: call.state} if call.state is not None else None
            calls.append(
                ToolCall(
                    tool_name=call.name, input_args=parse_arguments(call.arguments), id=call.id, provider_options=state
                )
            )
        return calls

    def _text(self) -> str:
        text, thoughts = "".join(self._draft.text), "".join(self._draft.thoughts)
        return f"<think>{thoughts}</think>\n{text}" if self._include and thoughts else text

    def _stop_reason(self) -> str | None:
        match self._finish_reason:
            case "stop":
                return "end_turn"
            case "tool_calls" | "function_call":
                return "tool_use"
            case "length":
                return "max_tokens"
            case other:
                return other

    def _count(self, usage: Any) -> None:
        """Take over counts; the last word stands."""
        if usage is None:
            return
        details = getattr(usage, "prompt_tokens_details", None)
        self._usage = TokenUsage(
            tokens_in=usage.prompt_tokens or 0,
            tokens_out=usage.completion_tokens or 0,
            cache_read_input_tokens=(getattr(details, "cached_tokens", None) or 0) if details is not None else 0,
        )
