"""What a screen may send back, checked: a screen is somebody else's program."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, create_model

from agents.web.tools.arguments import EMAIL, FieldArgs, OptionArgs

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
_Email = Annotated[str, StringConstraints(strip_whitespace=True, pattern=EMAIL, max_length=320)]


class PlanAnswer(BaseModel):
    """An answer to a plan with a remark."""

    model_config = ConfigDict(strict=True, extra="ignore")

    approved: bool
    comment: Annotated[str, StringConstraints(max_length=4000)] = ""


YES_NO: TypeAdapter[bool] = TypeAdapter(bool, config=ConfigDict(strict=True))
FREE_TEXT: TypeAdapter[str] = TypeAdapter(Text)
APPROVAL: TypeAdapter[bool | PlanAnswer] = TypeAdapter(bool | PlanAnswer, config=ConfigDict(strict=True))


def one_of(options: list[OptionArgs]) -> TypeAdapter[Any]:
    """The value of one of ``options``."""
    return TypeAdapter(_literal(options))


def some_of(options: list[OptionArgs]) -> TypeAdapter[Any]:
    """The values of one or several of ``options``."""
    some: Any = Annotated[list[_literal(options)], Field(min_length=1, max_length=len(options))]
    return TypeAdapter(some | _literal(options))


def filled(fields: list[FieldArgs]) -> TypeAdapter[Any]:
    """A form with ``fields``; unknown keys are dropped, an empty text counts as left open."""
    shape: dict[str, Any] = {}
    for each in fields:
        kind = _type_of(each)
        shape[each.name] = (kind, ...) if each.required else (kind | None, None)
    # Aliases, so that a field may be called "copy" or "json" without hiding a method.
    slots = {f"field_{name}": definition for name, definition in shape.items()}
    config = ConfigDict(extra="ignore", alias_generator=lambda name: name.removeprefix("field_"))
    return TypeAdapter(create_model("Form", __config__=config, **slots))


def open_blanks(value: Any, fields: list[FieldArgs]) -> Any:
    """``value`` with the empty texts of optional fields as None, as browsers send them."""
    if not isinstance(value, dict):
        return value
    optional = {each.name for each in fields if not each.required}
    return {
        name: None if name in optional and isinstance(entry, str) and not entry.strip() else entry
        for name, entry in value.items()
    }


def _type_of(each: FieldArgs) -> Any:
    match each.type:
        case "number":
            return int | float
        case "email":
            return _Email
        case "date":
            return date
        case "boolean":
            return bool
        case "choice":
            return _literal(each.options)
        case "text":
            return Text


def _literal(options: list[OptionArgs]) -> Any:
    return Literal[tuple(option.value for option in options)]
