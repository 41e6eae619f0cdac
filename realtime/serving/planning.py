"""What an answer shall be: the wishes for it, and the session's settings for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from agents.core.model import ToolSpec
from realtime.serving.commands import ResponseWishes
from realtime.serving.items import Item
from realtime.serving.limits import Limits
from realtime.serving.refusal import Refusal
from realtime.serving.response import Plan
from realtime.serving.settings import FunctionTool, NamedTool, SessionSettings, ToolChoice


def planned(settings: SessionSettings, wishes: ResponseWishes, items: Sequence[Item], limits: Limits) -> Plan:
    """The answer to ``items``. Raises ``Refusal``."""
    output = settings.audio.output
    wanted = wishes.audio.output if wishes.audio else None
    instructions = settings.instructions if wishes.instructions is None else wishes.instructions
    tools = settings.tools if wishes.tools is None else wishes.tools
    check_texts(instructions, tools, limits, "response")
    choice = settings.tool_choice if wishes.tool_choice is None else wishes.tool_choice
    tokens = settings.max_output_tokens if wishes.max_output_tokens is None else wishes.max_output_tokens
    voice = (wanted.voice if wanted else None) or output.voice
    return Plan(
        instructions=instructions,
        items=items,
        tools=tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in _chosen(tools, choice)),
        own_tools=choice != "none",
        modality=(wishes.output_modalities or settings.output_modalities)[0],
        sound=(wanted.format if wanted else None) or output.format,
        voice=voice if isinstance(voice, str) else voice.id,
        max_tokens=None if tokens == "inf" else tokens,
        in_conversation=wishes.conversation == "auto",
        metadata=wishes.metadata,
    )


def check_texts(instructions: str, tools: Sequence[FunctionTool], limits: Limits, place: str) -> None:
    """Raise ``Refusal`` where there is more than a mind is given."""
    if len(instructions) > limits.text_chars:
        message = f"Instructions may have {limits.text_chars} characters."
        raise Refusal("string_above_max_length", message, param=f"{place}.instructions")
    if len(tools) > limits.tools:
        raise Refusal("array_above_max_length", f"There may be {limits.tools} tools.", param=f"{place}.tools")
    if len({tool.name for tool in tools}) < len(tools):
        raise Refusal("invalid_value", "Two tools have the same name.", param=f"{place}.tools")


def _chosen(tools: Sequence[FunctionTool], choice: ToolChoice) -> Sequence[FunctionTool]:
    if choice == "none":
        return ()
    if not isinstance(choice, NamedTool):
        return tools
    named = [tool for tool in tools if tool.name == choice.name]
    if not named:
        raise Refusal("invalid_value", f"There is no tool {choice.name}.", param="tool_choice")
    return named
