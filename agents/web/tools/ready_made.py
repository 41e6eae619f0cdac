"""The tools themselves: they push a slot, wait for its answer if it is a question, and tell the model what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from agents.core.display import Answer, QuestionClosed, Unanswered
from agents.core.messages import ToolResultData
from agents.core.outcomes import failed
from agents.core.tool import Tool, ToolContext
from agents.web.tools.answers import APPROVAL, FREE_TEXT, YES_NO, PlanAnswer, filled, one_of, open_blanks, some_of
from agents.web.tools.arguments import (
    CardArgs,
    ConfirmArgs,
    FormArgs,
    PlanArgs,
    PreferenceArgs,
    SuggestArgs,
    TextArgs,
)

if TYPE_CHECKING:
    from agents.core.glove import Glove

ANSWER_LIMIT_S = 300.0
"""Seconds a question stays on a screen; where it is asked aloud, the room has a shorter limit of its own."""

MOST_ATTEMPTS = 3
"""How often a screen may send an answer of the wrong shape."""

V = TypeVar("V")


def ready_made_tools(limit_s: float = ANSWER_LIMIT_S) -> list[Tool[Any]]:
    """``confirm_action``, ``collect_form``, ``ask_preference``, ``text_input``, ``approve_plan``, ``suggest_options``
    and ``show_info_card``. Questions that nobody answers within ``limit_s`` seconds are withdrawn.
    """
    return [
        Tool(
            "confirm_action",
            "Ask the user to confirm something before you do it; they answer yes or no, on a screen or aloud.",
            lambda args, ctx: _confirm(args, ctx, limit_s),
            ConfirmArgs,
        ),
        Tool(
            "collect_form",
            "Have the user fill in several values at once, on a screen or by voice, field by field.",
            lambda args, ctx: _form(args, ctx, limit_s),
            FormArgs,
        ),
        Tool(
            "ask_preference",
            "Let the user choose one of several options, on a screen or aloud.",
            lambda args, ctx: _preference(args, ctx, limit_s),
            PreferenceArgs,
        ),
        Tool(
            "text_input",
            "Ask the user for one text, which you get word for word.",
            lambda args, ctx: _text(args, ctx, limit_s),
            TextArgs,
        ),
        Tool(
            "approve_plan",
            "Show the steps of a plan and wait until the user approves or rejects it.",
            lambda args, ctx: _plan(args, ctx, limit_s),
            PlanArgs,
        ),
        Tool(
            "suggest_options",
            "Offer things the user may want to say next, as buttons on a screen. You need not wait for a choice.",
            lambda args, ctx: _suggest(args, ctx, limit_s),
            SuggestArgs,
        ),
        Tool(
            "show_info_card",
            "Show a card with text on a screen, for what is better read than heard. It is not read aloud.",
            _card,
            CardArgs,
        ),
    ]


def fold_ready_made(glove: Glove, limit_s: float = ANSWER_LIMIT_S) -> Glove:
    """Give ``glove`` the seven tools and its display their renderers. Returns ``glove``.

    Raises:
        GloveError: ``ERR_TOOL_DUPLICATE`` if it has a tool of such a name already.
    """
    for tool in ready_made_tools(limit_s):
        glove.fold(tool)
        glove.display.register_renderer(tool.name)
    return glove


async def _confirm(args: ConfirmArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: bool) -> str:
        return "The user confirmed." if answer else "The user said no."

    return await _asked("confirm_action", args, YES_NO, told, ctx, limit_s)


async def _form(args: FormArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: BaseModel) -> dict[str, Any]:
        return answer.model_dump(mode="json", by_alias=True)

    return await _asked(
        "collect_form", args, filled(args.fields), told, ctx, limit_s, lambda value: open_blanks(value, args.fields)
    )


async def _preference(args: PreferenceArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: str) -> str:
        return f"User selected: {answer}"

    return await _asked("ask_preference", args, one_of(args.options), told, ctx, limit_s)


async def _text(args: TextArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: str) -> str:
        return answer

    return await _asked("text_input", args, FREE_TEXT, told, ctx, limit_s)


async def _plan(args: PlanArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: bool | PlanAnswer) -> str:
        given = answer if isinstance(answer, PlanAnswer) else PlanAnswer(approved=answer)
        verdict = "The user approved the plan." if given.approved else "The user rejected the plan."
        return f"{verdict} Their comment: {given.comment!r}" if given.comment else verdict

    return await _asked("approve_plan", args, APPROVAL, told, ctx, limit_s)


async def _suggest(args: SuggestArgs, ctx: ToolContext, limit_s: float) -> ToolResultData:
    def told(answer: str | list[str]) -> str:
        return f"User selected: {answer if isinstance(answer, str) else ', '.join(answer)}"

    if args.wait:
        return await _asked("suggest_options", args, some_of(args.options), told, ctx, limit_s)
    await ctx.display.push_and_forget("suggest_options", _shown(args))
    return ToolResultData(data="The options are shown. The user may take one of them or say something else.")


async def _card(args: CardArgs, ctx: ToolContext) -> ToolResultData:
    shown = _shown(args)
    await ctx.display.push_and_forget("show_info_card", shown)
    return ToolResultData(data="The card is shown.", renderData=shown)


async def _asked(
    renderer: str,
    args: BaseModel,
    shape: TypeAdapter[V],
    told: Callable[[V], Any],
    ctx: ToolContext,
    limit_s: float,
    prepared: Callable[[Any], Any] = lambda value: value,
) -> ToolResultData:
    """Ask until an answer has the right shape. A question that is closed unanswered is a result, not an exception."""
    shown = _shown(args)
    for _ in range(MOST_ATTEMPTS):
        try:
            answer = await ctx.display.ask(renderer, shown, timeout_s=limit_s)
        except Unanswered:
            return failed("Nobody answered the question in time.")
        except QuestionClosed as closed:
            return failed(f"The user gave no answer. {closed.message}")
        if answer.value is None:
            return failed("The user gave no answer.")
        try:
            value = shape.validate_python(prepared(answer.value))
        except ValidationError as invalid:
            shown = {**_shown(args), "error": _complaint(invalid)}
            continue
        return _result(args, answer, told(value))
    return failed(f"The answers that came back could not be used: {shown.get('error', '')}")


def _result(args: BaseModel, answer: Answer, data: Any) -> ToolResultData:
    rendered = {"input": _shown(args), "answer": answer.value}
    if not answer.said:
        return ToolResultData(data=data, renderData=rendered)
    # The model also learns how it was said: "yes, but hurry" is more than a yes.
    spoken = {"answer": data, "said": answer.said}
    return ToolResultData(data=spoken, renderData={**rendered, "said": answer.said})


def _shown(args: BaseModel) -> dict[str, Any]:
    return args.model_dump(mode="json")


def _complaint(invalid: ValidationError) -> str:
    """What is wrong with an answer, without repeating it."""
    issues = invalid.errors(include_url=False, include_context=False, include_input=False)
    lines = (f"{'.'.join(str(step) for step in issue['loc'])}: {issue['msg']}".lstrip(": ") for issue in issues[:5])
    return "; ".join(lines)
