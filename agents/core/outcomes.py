"""What became of a tool call, as a result that a store can keep as JSON and a model can read."""

from __future__ import annotations

import inspect
import json
from typing import Any

import structlog
from pydantic import ValidationError
from pydantic_core import to_json, to_jsonable_python

from agents.core.markup import shortened
from agents.core.messages import DEEPEST, ToolCall, ToolResult, ToolResultData, too_deep
from agents.core.tool import Tool

log = structlog.get_logger(__name__)

INPUT_INVALID = "TOOL_INPUT_INVALID"
"""Message of a result whose input did not fit the tool's model; ``data`` says what is wrong."""

ABORTED_BY_USER = "Aborted by the user."
NOT_STARTED = "Aborted by the user before the tool was started."
UNFINISHED = "Aborted while the tool was running; it may or may not have taken effect."

_MESSAGE_CHARS = 4_000
"""Longest text of an error; the text of an exception may hold anything."""

_ASK_FOR_LESS = " Ask for less to see the rest."


def wrapped(tool: Tool[Any], value: Any) -> ToolResultData:
    """A tool's return value as a result.

    What is not JSON becomes text where it can (``str``) and an error result where it cannot: values that contain
    themselves, generators, objects that cannot be written as text. ``data`` longer than ``tool.max_result_chars`` is
    cut, so that no result can fill the model's context or the store.
    """
    try:
        return _cut(tool, _plain(value))
    except Exception as fault:  # noqa: BLE001 - whatever a foreign value raises, the turn goes on
        # Without the stack: writing down a huge value once more, as a local of each frame, takes minutes.
        log.warning("a tool returned what cannot be kept", tool=tool.name, error=text_of(fault))
        return failed(f"{tool.name} ran, but what it returned cannot be written as JSON: {text_of(fault)}")


async def summarised(tool: Tool[Any], result: ToolResultData) -> ToolResultData:
    """``result`` with its short form. A generator that fails costs the short form, not the result."""
    if tool.generate_summary is None or result.generateSummaryArgs is None or result.status != "success":
        return result
    try:
        summary = await tool.generate_summary(result.generateSummaryArgs)
        arguments = to_jsonable_python(result.generateSummaryArgs, fallback=str)
    except Exception:
        log.exception("summary of a tool result failed", tool=tool.name)
        return result.model_copy(update={"generateSummaryArgs": None})
    return result.model_copy(update={"summary": summary, "generateSummaryArgs": arguments})


def invalid_input(invalid: ValidationError) -> ToolResultData:
    """The result of a call whose input does not fit; the model reads what to mend."""
    issues = ((".".join(str(step) for step in issue["loc"]), issue["msg"]) for issue in invalid.errors())
    told = "\n".join(f"{path or 'input'}: {message}" for path, message in issues)
    return ToolResultData(status="error", message=INPUT_INVALID, data=told)


def failed(message: str) -> ToolResultData:
    """An error result."""
    return ToolResultData(status="error", message=shortened(message, _MESSAGE_CHARS, _ASK_FOR_LESS))


def aborted(message: str) -> ToolResultData:
    """The result of a call that the user stopped."""
    return ToolResultData(status="aborted", message=message)


def result_of(call: ToolCall, data: ToolResultData, duration_ms: float | None = None) -> ToolResult:
    """``data`` as the entry of a message, tied to its call."""
    return ToolResult(tool_name=call.tool_name, call_id=call.id, result=data, duration_ms=duration_ms)


def text_of(fault: BaseException) -> str:
    """What an exception says, or its name if it says nothing."""
    return str(fault) or type(fault).__name__


def _plain(value: Any) -> ToolResultData:
    if not isinstance(value, ToolResultData):
        return ToolResultData(data=_json_value(value))
    fields = {name: _json_value(getattr(value, name)) for name in ("data", "renderData")}
    return value.model_copy(update=fields)


def _json_value(value: Any) -> Any:
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise TypeError("it returned a generator")
    plain = to_jsonable_python(value, fallback=str)
    if too_deep(plain):
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    return plain


def _cut(tool: Tool[Any], result: ToolResultData) -> ToolResultData:
    limit, data = tool.max_result_chars, result.data
    message = shortened(result.message, _MESSAGE_CHARS, _ASK_FOR_LESS) if result.message else result.message
    text = data if isinstance(data, str) else _as_json(data)
    if len(text) <= limit and message == result.message:
        return result
    if len(text) > limit:
        log.warning("a tool result was cut", tool=tool.name, chars=len(text), limit_chars=limit)
        data = shortened(text, limit, _ASK_FOR_LESS)
    return result.model_copy(update={"data": data, "message": message})


def _as_json(data: Any) -> str:
    try:
        return to_json(data).decode()
    except ValueError:
        # Half a surrogate pair: no reason to lose the rest.
        return json.dumps(data)
