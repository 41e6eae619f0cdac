"""Stored messages as the turns a provider accepts: alternating roles, every tool call answered exactly once.

Adapters translate the blocks; what must be true of their order is settled here, once for all families.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.core.messages import ContentPart, Message, ToolResult, ToolResultData
from agents.core.outcomes import ABORTED_BY_USER

NO_RESULT = "No result available"
OPENING = "(The conversation begins with the assistant speaking.)"
"""For formats that want the user's turn before the assistant's: stands in where the agent spoke first."""


@dataclass(frozen=True)
class TextBlock:
    """Plain text, never empty."""

    text: str


@dataclass(frozen=True)
class MediaBlock:
    """An image, document, video or recording."""

    part: ContentPart


@dataclass(frozen=True)
class CallBlock:
    """A tool call of the assistant; ``id`` is never empty and unique in the request, ``stored_id`` is as stored."""

    id: str
    name: str
    input: Any
    stored_id: str | None = None
    provider_options: dict[str, Any] | None = None


@dataclass(frozen=True)
class ResultBlock:
    """What a tool gave back, as text."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class StateBlock:
    """A message's ``provider_options``: state that only the provider that wrote it can read back."""

    options: dict[str, Any]


Content = TextBlock | MediaBlock | CallBlock | ResultBlock | StateBlock


@dataclass(frozen=True)
class Block:
    """One block of a turn. ``transient`` blocks are made for this call and will not be in the next one."""

    content: Content
    transient: bool = False


@dataclass
class Turn:
    """Adjacent messages of one role. ``reasoning`` is what the assistant thought, where it was captured."""

    role: Literal["user", "assistant"]
    blocks: list[Block] = field(default_factory=list[Block])
    reasoning: str | None = None


def normalise(messages: Sequence[Message]) -> list[Turn]:
    """``messages`` as alternating turns.

    Adjacent messages of one role are merged, keeping all blocks. Of several results for one call the first counts; a
    call without a result in the turn that follows gets ``NO_RESULT``; a result without its call is told as text. In a
    turn, results come first. Missing and repeated call ids are made from positions, so that the same history always
    yields the same request and a provider's cache can recognise it.
    """
    turns = _merged(messages)
    for index, turn in enumerate(turns):
        if turn.role == "user":
            _pair(turn, _calls(turns[index - 1]) if index else [])
    return [turn for turn in _answered(turns) if turn.blocks]


def result_text(result: ToolResultData) -> tuple[str, bool]:
    """What the model reads of a result, and whether it is a failure.

    ``renderData``, ``summary`` and durations are not for the model.
    """
    if result.status == "error":
        detail = "" if result.data is None else _text_of(result.data)
        return f"Error: {result.message or 'Unknown error'}\n{detail}".strip(), True
    if result.status == "aborted":
        return result.message or ABORTED_BY_USER, True
    return _text_of(result.data), False


def is_transient(message: Message) -> bool:
    """Whether a message was made for this model call only."""
    runtime = message.framework_context == "runtime" and message.delivery != "history"
    return runtime or message.is_compaction_request


def tools_of_history(turns: Sequence[Turn]) -> list[str]:
    """Names of the tools that were called, each once, in order."""
    return list(dict.fromkeys(call.name for turn in turns for call in _calls(turn)))


def thoughts_missing(turns: Sequence[Turn], has_thoughts: Callable[[dict[str, Any]], bool]) -> bool:
    """Whether tool calls are still being worked on, and the first of them came without thoughts.

    That is so after another model was put in the first one's place. Providers who sign thoughts want them where the
    work began or not at all, so a model that thinks must do without until the user speaks again.
    """
    first = len(turns)
    while first >= 2 and turns[first - 1].role == "user" and _has_results(turns[first - 1]):
        first -= 2
    if first == len(turns):
        return False
    states = [block.content for block in turns[first].blocks if isinstance(block.content, StateBlock)]
    return not any(has_thoughts(state.options) for state in states)


def _has_results(turn: Turn) -> bool:
    return any(isinstance(block.content, ResultBlock) for block in turn.blocks)


def sound(text: str) -> str:
    """``text`` as it can be encoded: half of a surrogate pair, from a careless tool, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _text_of(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)


def _merged(messages: Sequence[Message]) -> list[Turn]:
    turns: list[Turn] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        role = "user" if message.sender == "user" else "assistant"
        blocks = [Block(content, is_transient(message)) for content in _contents(message, position, seen)]
        if not blocks:
            continue
        if not turns or turns[-1].role != role:
            turns.append(Turn(role))
        turns[-1].blocks += blocks
        turns[-1].reasoning = message.reasoning_content or turns[-1].reasoning
    return turns


def _contents(message: Message, position: int, seen: set[str]) -> list[Content]:
    if message.tool_results:
        # The text of a message that carries results is a label, not words.
        return [_result(result) for result in message.tool_results]
    contents: list[Content] = []
    if message.provider_options and message.sender == "agent":
        contents.append(StateBlock(message.provider_options))
    if message.content:
        contents += _parts(message.content)
    elif message.text.strip():
        contents.append(TextBlock(sound(message.text)))
    for number, call in enumerate(message.tool_calls or ()):
        call_id = call.id if call.id and call.id not in seen else f"call_{position}_{number}"
        seen.add(call_id)
        contents.append(CallBlock(call_id, call.tool_name, call.input_args, call.id, call.provider_options))
    if contents and all(isinstance(content, StateBlock) for content in contents):
        return []
    return contents


def _parts(parts: Iterable[ContentPart]) -> list[Content]:
    contents: list[Content] = []
    for part in parts:
        if part.type != "text":
            contents.append(MediaBlock(part))
        elif part.text and part.text.strip():
            contents.append(TextBlock(sound(part.text)))
    return contents


def _result(result: ToolResult) -> ResultBlock:
    text, is_error = result_text(result.result)
    # Without an id the tool's name stands in until the calls are known.
    return ResultBlock(result.call_id or f"\0{result.tool_name}", sound(text), is_error)


def _calls(turn: Turn) -> list[CallBlock]:
    return [block.content for block in turn.blocks if isinstance(block.content, CallBlock)]


def _pair(turn: Turn, calls: list[CallBlock]) -> None:
    """Order a user turn: one result per call of the turn before, then everything else."""
    open_calls = list(calls)
    results: list[Block] = []
    rest: list[Block] = []
    for block in turn.blocks:
        result = block.content
        if not isinstance(result, ResultBlock):
            rest.append(block)
        elif (call := _call_of(result, open_calls)) is not None:
            open_calls.remove(call)
            results.append(Block(ResultBlock(call.id, result.text, result.is_error), block.transient))
        elif _call_of(result, calls) is None:
            rest.append(Block(TextBlock(f"[Result of an earlier tool call]\n{result.text}"), block.transient))
    results += [Block(ResultBlock(call.id, NO_RESULT, True)) for call in open_calls]
    turn.blocks = results + rest


def _call_of(result: ResultBlock, calls: Iterable[CallBlock]) -> CallBlock | None:
    """The first of ``calls`` that ``result`` answers: by id, or by the tool's name if neither has one."""
    name = result.call_id[1:] if result.call_id.startswith("\0") else None
    for call in calls:
        if call.stored_id == result.call_id or (name is not None and not call.stored_id and call.name == name):
            return call
    return None


def _answered(turns: list[Turn]) -> list[Turn]:
    """``turns`` with a turn of synthetic results after an assistant turn at the end whose calls have none."""
    if turns and turns[-1].role == "assistant" and (calls := _calls(turns[-1])):
        return [*turns, Turn("user", [Block(ResultBlock(call.id, NO_RESULT, True)) for call in calls])]
    return turns
