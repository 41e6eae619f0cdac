"""The seven tools: what a screen is shown, what it may send back, and what the model is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.display import QuestionClosed, SlotPushed
from agents.core.glove import Glove
from agents.core.messages import ToolResultData
from agents.models.scripted import Call, ScriptedModel
from agents.web.tools.ready_made import MOST_ATTEMPTS, fold_ready_made, ready_made_tools

OPTIONS = [{"label": "Red", "value": "r"}, "blue"]
FIELDS = [
    {"name": "name", "label": "Name"},
    {"name": "json", "label": "Age", "type": "number", "required": False},
    {"name": "day", "label": "Day", "type": "date", "required": False},
]
PLAN = {"title": "Tea", "steps": ["Boil water", {"title": "Pour", "description": "slowly"}]}


class Screen:
    """Answers each slot with the next of its answers."""

    def __init__(self, glove: Glove, answers: list[Any]) -> None:
        self.shown: list[Any] = []
        self._answers = answers
        self._display = glove.display
        glove.display.events.on(SlotPushed, self._show)

    def _show(self, event: SlotPushed) -> None:
        self.shown.append((event.slot.renderer, event.slot.input, event.slot.blocking))
        if event.slot.blocking and self._answers:
            answer = self._answers.pop(0)
            if isinstance(answer, GloveError):
                self._display.reject(event.slot.id, answer)
            else:
                self._display.resolve(event.slot.id, answer)


async def call(tool: str, args: Any, *answers: Any, limit_s: float = 60.0) -> tuple[ToolResultData, Screen]:
    glove = fold_ready_made(Glove(model=ScriptedModel([[Call(tool, args)], "done"])), limit_s).build()
    screen = Screen(glove, list(answers))
    await glove.process_request("go")
    messages = await glove.store.get_messages()
    [result] = [result.result for message in messages for result in message.tool_results or ()]
    return result, screen


@pytest.mark.parametrize(
    ("tool", "args", "answer", "told"),
    [
        ("confirm_action", {"title": "Sure?"}, True, "The user confirmed."),
        ("confirm_action", {"title": "Sure?"}, False, "The user said no."),
        ("ask_preference", {"question": "Which?", "options": OPTIONS}, "r", "User selected: r"),
        ("suggest_options", {"options": OPTIONS, "wait": True}, "blue", "User selected: blue"),
        ("suggest_options", {"options": OPTIONS, "wait": True}, ["r", "blue"], "User selected: r, blue"),
        ("text_input", {"prompt": "Name?"}, "Anna", "Anna"),
        ("approve_plan", PLAN, True, "The user approved the plan."),
        (
            "approve_plan",
            PLAN,
            {"approved": False, "comment": "no sugar"},
            "The user rejected the plan. Their comment: 'no sugar'",
        ),
        (
            "collect_form",
            {"title": "You", "fields": FIELDS},
            {"name": "Anna", "json": "34", "day": "", "more": 1},
            {"name": "Anna", "json": 34, "day": None},
        ),
    ],
)
async def test_an_answer_reaches_the_model(tool: str, args: Any, answer: Any, told: Any) -> None:
    result, screen = await call(tool, args, answer)
    assert (result.status, result.data) == ("success", told)
    assert [(renderer, blocking) for renderer, _, blocking in screen.shown] == [(tool, True)]
    assert result.renderData["answer"] == answer


@pytest.mark.parametrize(
    ("tool", "args", "wrong", "right"),
    [
        ("confirm_action", {"title": "Sure?"}, "yes", True),
        ("confirm_action", {"title": "Sure?"}, 1, False),
        ("ask_preference", {"question": "Which?", "options": OPTIONS}, "green", "r"),
        ("ask_preference", {"question": "Which?", "options": OPTIONS}, {"a": [1]}, "r"),
        ("text_input", {"prompt": "Name?"}, 7, "Anna"),
        ("text_input", {"prompt": "Name?"}, "  ", "Anna"),
        ("approve_plan", PLAN, {"approved": "maybe"}, True),
        ("suggest_options", {"options": OPTIONS, "wait": True}, [], "r"),
        ("collect_form", {"title": "You", "fields": FIELDS}, {"json": 3}, {"name": "Anna"}),
        ("collect_form", {"title": "You", "fields": FIELDS}, [1, 2], {"name": "Anna"}),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_asked_for_again(tool: str, args: Any, wrong: Any, right: Any) -> None:
    result, screen = await call(tool, args, wrong, right)
    assert result.status == "success"
    assert len(screen.shown) == 2
    assert "error" not in screen.shown[0][1] and screen.shown[1][1]["error"]


async def test_a_screen_that_never_learns_is_given_up() -> None:
    result, screen = await call("confirm_action", {"title": "Sure?"}, *["nonsense"] * 9)
    assert result.status == "error" and "could not be used" in (result.message or "")
    assert len(screen.shown) == MOST_ATTEMPTS


@pytest.mark.parametrize("refusal", [None, QuestionClosed("ERR_SLOT_REJECTED", "The question was refused.")])
async def test_a_refusal_is_a_result_and_not_asked_again(refusal: Any) -> None:
    result, screen = await call("text_input", {"prompt": "Name?"}, refusal)
    assert result.status == "error" and (result.message or "").startswith("The user gave no answer.")
    assert len(screen.shown) == 1


async def test_nobody_answers() -> None:
    result, screen = await call("text_input", {"prompt": "Name?"}, limit_s=5.0)
    assert result.message == "Nobody answered the question in time."
    assert len(screen.shown) == 1


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("show_info_card", {"title": "News", "content": "Rain."}),
        ("suggest_options", {"prompt": "Next?", "options": OPTIONS}),
    ],
)
async def test_cards_and_chips_do_not_wait(tool: str, args: Any) -> None:
    result, screen = await call(tool, args)
    assert result.status == "success"
    assert [(renderer, blocking) for renderer, _, blocking in screen.shown] == [(tool, False)]


async def test_an_abort_withdraws_the_question() -> None:
    model = ScriptedModel([[Call("text_input", {"prompt": "Name?"})]])
    glove = fold_ready_made(Glove(model=model)).build()
    abort = AbortToken()
    turn = asyncio.ensure_future(glove.process_request("go", abort))
    while not glove.display.pending:
        await asyncio.sleep(0.01)
    abort.abort("enough")
    with pytest.raises(Aborted):
        await turn
    assert glove.display.stack == ()


@pytest.mark.parametrize(
    ("tool", "args", "where"),
    [
        ("confirm_action", {}, "title"),
        ("ask_preference", {"question": "Which?", "options": []}, "options"),
        ("ask_preference", {"question": "Which?", "options": ["a", "a"]}, "same value"),
        ("collect_form", {"title": "T", "fields": [{"name": "a b", "label": "L"}]}, "fields.0.name"),
        ("collect_form", {"title": "T", "fields": [{"name": "a", "label": "L", "type": "choice"}]}, "needs options"),
        ("collect_form", {"title": "T", "fields": [FIELDS[0], FIELDS[0]]}, "same name"),
        ("approve_plan", {"title": "T", "steps": []}, "steps"),
    ],
)
async def test_arguments_that_make_no_question_are_told_to_the_model(tool: str, args: Any, where: str) -> None:
    result, screen = await call(tool, args)
    assert result.status == "error" and where in str(result.data)
    assert screen.shown == []


async def test_how_an_answer_was_said_is_kept_with_the_result() -> None:
    glove = fold_ready_made(Glove(model=ScriptedModel([[Call("confirm_action", {"title": "Sure?"})], "done"]))).build()
    glove.display.events.on(
        SlotPushed, lambda event: glove.display.resolve(event.slot.id, True, said="Yes, but hurry.")
    )
    await glove.process_request("go")
    messages = await glove.store.get_messages()
    [result] = [result.result for message in messages for result in message.tool_results or ()]
    assert result.data == {"answer": "The user confirmed.", "said": "Yes, but hurry."}
    assert result.renderData["said"] == "Yes, but hurry."


def test_the_tools_are_seven_and_their_schemas_can_be_sent() -> None:
    import json

    tools = ready_made_tools()
    assert {tool.name for tool in tools} == {
        "confirm_action",
        "collect_form",
        "ask_preference",
        "text_input",
        "show_info_card",
        "suggest_options",
        "approve_plan",
    }
    for tool in tools:
        assert json.loads(json.dumps(tool.spec().parameters))["type"] == "object"
