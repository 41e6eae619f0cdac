"""What the ready-made tools take; the same goes to screens as the input of the tool's slot."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_OPTIONS = 12
MOST_FIELDS = 20
MOST_STEPS = 20

EMAIL = r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"
"""What passes for an e-mail address."""

FieldKind = Literal["text", "number", "email", "date", "choice", "boolean"]
"""What a field of a form takes."""

Line = Annotated[str, Field(min_length=1, max_length=300)]
Passage = Annotated[str, Field(min_length=1, max_length=4000)]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)


class OptionArgs(_Arguments):
    """One of several answers. A plain string is both label and value."""

    label: Annotated[Line, Field(description="What the user sees and says.")]
    value: Annotated[Line, Field(description="What you get back.")]
    description: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"label": given, "value": given}
        if isinstance(given, dict) and "label" in given and "value" not in given:
            return {**given, "value": given["label"]}
        return given


Options = Annotated[list[OptionArgs], Field(min_length=1, max_length=MOST_OPTIONS)]


def _distinct(options: list[OptionArgs]) -> None:
    if len({option.value for option in options}) < len(options):
        raise ValueError("two options have the same value")


class ConfirmArgs(_Arguments):
    """A question that is answered by yes or no."""

    title: Annotated[Line, Field(description="The question in one short sentence.")]
    message: Annotated[str, Field(max_length=2000, description="What will happen, if the title does not say it.")] = ""
    confirm_label: Annotated[str, Field(max_length=60)] = ""
    cancel_label: Annotated[str, Field(max_length=60)] = ""


class FieldArgs(_Arguments):
    """One field of a form."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$", description="Key of the value.")]
    label: Line
    type: FieldKind = "text"
    required: bool = True
    options: Annotated[list[OptionArgs], Field(max_length=MOST_OPTIONS, description="For type choice.")] = []
    placeholder: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _has_options(self) -> Self:
        if self.type == "choice" and not self.options:
            raise ValueError("a field of type choice needs options")
        _distinct(self.options)
        return self


class FormArgs(_Arguments):
    """A form of several fields."""

    title: Line
    description: Annotated[str, Field(max_length=1000)] = ""
    fields: Annotated[list[FieldArgs], Field(min_length=1, max_length=MOST_FIELDS)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        if len({each.name for each in self.fields}) < len(self.fields):
            raise ValueError("two fields have the same name")
        return self


class PreferenceArgs(_Arguments):
    """A choice of one."""

    question: Line
    options: Options

    @model_validator(mode="after")
    def _values_differ(self) -> Self:
        _distinct(self.options)
        return self


class TextArgs(_Arguments):
    """A question with a free answer."""

    prompt: Line
    placeholder: Annotated[str, Field(max_length=300)] = ""
    multiline: bool = False


class CardArgs(_Arguments):
    """Something to read."""

    title: Line
    content: Passage
    variant: Literal["info", "success", "warning", "error"] = "info"


class SuggestArgs(_Arguments):
    """Things the user might say next."""

    prompt: Annotated[str, Field(max_length=300)] = ""
    options: Options
    wait: Annotated[bool, Field(description="Whether you cannot go on without a choice. The user is asked then.")] = (
        False
    )

    @model_validator(mode="after")
    def _values_differ(self) -> Self:
        _distinct(self.options)
        return self


class StepArgs(_Arguments):
    """One step of a plan. A plain string is the title."""

    title: Line
    description: Annotated[str, Field(max_length=1000)] = ""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        return {"title": given} if isinstance(given, str) else given


class PlanArgs(_Arguments):
    """A plan to be approved."""

    title: Line
    steps: Annotated[list[StepArgs], Field(min_length=1, max_length=MOST_STEPS)]
