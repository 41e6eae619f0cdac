"""How the questions that the framework itself knows are asked aloud, by renderer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import structlog

from agents.core.display import DisplayManager, Slot
from agents.questions.choices import Option
from agents.questions.contract import SPOKEN, Dialogue, SpokenForm
from agents.questions.dialogues import Choice, Several, Verbatim, YesNo
from agents.questions.form import Field, FieldDialogue
from agents.questions.sentences import phrase, sentence
from agents.web.tools.arguments import (
    ConfirmArgs,
    FieldArgs,
    FormArgs,
    OptionArgs,
    PlanArgs,
    PreferenceArgs,
    SuggestArgs,
    TextArgs,
)

log = structlog.get_logger(__name__)

_MOST_DETAILS = 3
_LONGEST_DETAIL = 60
_TEXT_KEYS = ("question", "prompt", "message", "title", "text", "description")


def dialogue_for(display: DisplayManager, slot: Slot) -> Dialogue:
    """How the question in ``slot`` is asked aloud.

    A renderer that nobody has given a spoken form, and input that its form cannot ask, is asked for words.
    """
    metadata = display.renderers.get(slot.renderer, {})
    form = cast("SpokenForm | None", metadata.get(SPOKEN)) or FORMS.get(slot.renderer)
    if form is not None:
        try:
            return form(slot.input)
        except ValueError as fault:
            log.info("a question is asked without its form", renderer=slot.renderer, reason=str(fault))
        except Exception:
            log.exception("the spoken form of a question failed", renderer=slot.renderer)
    return _anything(slot.input, slot.renderer)


def _permission(value: Any) -> Dialogue:
    asked = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    tool = _plain(str(asked.get("toolName", "")))
    details = _details(asked.get("toolInput"))

    def text(language: str) -> str:
        if not details:
            return phrase("permission", language, tool=tool)
        return phrase("permission_with", language, tool=tool, details=", ".join(details))

    return YesNo(text)


def _confirm(value: Any) -> Dialogue:
    args = ConfirmArgs.model_validate(value)
    text = " ".join(filter(None, (sentence(args.message), _question(args.title))))
    return YesNo(lambda _: text)


def _plan(value: Any) -> Dialogue:
    args = PlanArgs.model_validate(value)

    def text(language: str) -> str:
        steps = [
            sentence(phrase("step", language, number=number, step=step.title))
            for number, step in enumerate(args.steps, 1)
        ]
        return " ".join([sentence(args.title), *steps, phrase("go_ahead", language)])

    return YesNo(text)


def _preference(value: Any) -> Dialogue:
    args = PreferenceArgs.model_validate(value)
    return Choice(args.question, _options(args.options))


def _suggestion(value: Any) -> Dialogue:
    args = SuggestArgs.model_validate(value)
    return Several(args.prompt, _options(args.options))


def _text(value: Any) -> Dialogue:
    prompt = TextArgs.model_validate(value).prompt
    return Verbatim(lambda _: prompt)


def _form(value: Any) -> Dialogue:
    args = FormArgs.model_validate(value)
    fields = tuple(_field(each) for each in args.fields)
    opening = " ".join(filter(None, (sentence(args.title), sentence(args.description))))
    return FieldDialogue(fields, fields, opening=opening)


FORMS: Mapping[str, SpokenForm] = {
    "permission_request": _permission,
    "confirm_action": _confirm,
    "approve_plan": _plan,
    "ask_preference": _preference,
    "suggest_options": _suggestion,
    "text_input": _text,
    "collect_form": _form,
}
"""The spoken forms of the renderers that come with the framework."""


def _anything(value: Any, renderer: str) -> Dialogue:
    """A question that only its own renderer knows: its text if it has one, and any words as the answer."""
    text = value if isinstance(value, str) else ""
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        text = next((str(known[key]) for key in _TEXT_KEYS if isinstance(known.get(key), str) and known[key]), "")
        options = _plain_options(known.get("options"))
        if options:
            return Choice(text, options)
    if text.strip():
        return Verbatim(lambda _: text.strip())
    return Verbatim(lambda language: phrase("anything", language, subject=_plain(renderer)))


def _plain_options(value: Any) -> tuple[Option, ...]:
    if not isinstance(value, list):
        return ()
    try:
        return _options([OptionArgs.model_validate(each) for each in cast("list[Any]", value)])
    except ValueError:
        return ()


def _options(options: list[OptionArgs]) -> tuple[Option, ...]:
    return tuple(Option(option.label, option.value) for option in options)


def _field(args: FieldArgs) -> Field:
    return Field(args.name, args.label, args.type, args.required, _options(args.options))


def _question(text: str) -> str:
    bare = text.strip().rstrip(".。")
    return bare if bare.endswith(("?", "？", "!")) else f"{bare}?"


def _plain(name: str) -> str:
    """A name of programs as people say it: "deleteFile" and "delete_file" are "delete file"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[_\W]+", " ", spaced).strip().lower()


def _details(value: Any) -> list[str]:
    """What a tool is called with, as far as it can be said in a breath."""
    if not isinstance(value, Mapping):
        return []
    known = cast("Mapping[str, Any]", value)
    said = [
        f"{_plain(str(key))}: {' '.join(str(entry).split())}"
        for key, entry in known.items()
        if isinstance(entry, str | int | float) and not isinstance(entry, bool) and str(entry).strip()
    ]
    return [each for each in said if len(each) <= _LONGEST_DETAIL][:_MOST_DETAILS]
