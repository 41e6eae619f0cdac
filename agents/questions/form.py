"""A form by voice: field by field, then read back and confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from agents.base import clock
from agents.questions.choices import Option, chosen
from agents.questions.contract import GoesOn, NotUnderstood, Refused, Understood, Verdict
from agents.questions.polar import Polarity, is_skip, is_stop, polarity
from agents.questions.sentences import either, phrase, sentence
from agents.questions.values import spoken_date, spoken_email, spoken_number
from agents.web.tools.arguments import FieldKind

_LONGEST_NAME = 5
"""Up to this many words a text is a name or a label, and the recogniser's full stop does not belong to it."""


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes:
        name: key of its value.
        label: how it is called.
        kind: what it takes; ``options`` are for ``choice``.
        required: whether it must be filled in.
    """

    name: str
    label: str
    kind: FieldKind = "text"
    required: bool = True
    options: tuple[Option, ...] = ()

    def read(self, utterance: str, language: str) -> Any:
        """The value that ``utterance`` gives, as JSON; None if it gives none."""
        match self.kind:
            case "number":
                return spoken_number(utterance, language)
            case "email":
                return spoken_email(utterance)
            case "date":
                day = spoken_date(utterance, language, clock.wall().astimezone().date())
                return None if day is None else day.isoformat()
            case "choice":
                option = chosen(utterance, self.options, language)
                return None if option is None else option.value
            case "boolean":
                said = polarity(utterance, language)
                return None if said is None else said is Polarity.YES
            case "text":
                return _bare(utterance) or None

    def spoken(self, value: Any, language: str) -> str:
        """``value`` as it is read back."""
        if value is None:
            return phrase("nothing", language)
        match self.kind:
            case "boolean":
                return phrase("yes" if value else "no", language)
            case "choice":
                return next((option.label for option in self.options if option.value == value), str(value))
            case "date":
                return _long_date(date.fromisoformat(value), language)
            case _:
                return str(value)


@dataclass(frozen=True)
class FieldDialogue:
    """Asks for one field and goes on with what is ``left``; afterwards reads everything back.

    Attributes:
        form: all fields.
        left: those that are still to be asked for, in order; at least one.
        values: what is known so far.
        opening: said before the question.
    """

    form: tuple[Field, ...]
    left: tuple[Field, ...]
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    opening: str = ""

    @property
    def takes_anything(self) -> bool:
        """See ``Dialogue``."""
        return self.left[0].kind == "text"

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        asked = self.left[0]
        said = [sentence(self.opening), phrase("field", language, label=asked.label.rstrip("?:. "))]
        if asked.kind == "choice":
            said.append(phrase("one_of", language, options=either([each.label for each in asked.options], language)))
        if not asked.required:
            said.append(phrase("optional", language))
        return " ".join(filter(None, said))

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        asked = self.left[0]
        hints = [phrase(asked.kind, language)] if asked.kind in ("number", "email", "date") else []
        if asked.kind == "boolean":
            hints = [phrase("yes_or_no", language)]
        if asked.required:
            hints.append(phrase("required", language))
        return " ".join([*hints, replace(self, opening="").question(language)])

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        asked = self.left[0]
        if is_stop(utterance, language):
            return Refused()
        if is_skip(utterance, language):
            return NotUnderstood() if asked.required else self._with(None)
        value = asked.read(utterance, language)
        return NotUnderstood() if value is None else self._with(value)

    def _with(self, value: Any) -> Verdict:
        values = {**self.values, self.left[0].name: value}
        if len(self.left) > 1:
            return GoesOn(FieldDialogue(self.form, self.left[1:], values))
        return GoesOn(ReadBack(self.form, values))


@dataclass(frozen=True)
class ReadBack:
    """Reads the whole form back and has it confirmed."""

    form: tuple[Field, ...]
    values: Mapping[str, Any]
    takes_anything = False

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        said = [f"{each.label.rstrip('?:. ')}: {each.spoken(self.values[each.name], language)}" for each in self.form]
        return phrase("read_back", language, values="; ".join(said))

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        return f"{phrase('yes_or_no', language)} {self.question(language)}"

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        if is_stop(utterance, language):
            return Refused()
        match polarity(utterance, language):
            case Polarity.YES:
                return Understood({name: value for name, value in self.values.items() if value is not None})
            case Polarity.NO:
                return GoesOn(_change(self.form, self.values))
            case None:
                return NotUnderstood()


@dataclass(frozen=True)
class WhichField:
    """Asks which field of a form that was not right shall be asked for again."""

    form: tuple[Field, ...]
    values: Mapping[str, Any]
    takes_anything = False

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        return phrase("which_field", language, options=either([each.label for each in self.form], language))

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        return phrase("one_of_again", language, options=either([each.label for each in self.form], language))

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        if is_stop(utterance, language):
            return Refused()
        option = chosen(utterance, [Option(each.label, each.name) for each in self.form], language)
        if option is None:
            return NotUnderstood()
        again = next(each for each in self.form if each.name == option.value)
        return GoesOn(FieldDialogue(self.form, (again,), self.values))


def _change(form: tuple[Field, ...], values: Mapping[str, Any]) -> FieldDialogue | WhichField:
    return WhichField(form, values) if len(form) > 1 else FieldDialogue(form, form, values)


def _bare(utterance: str) -> str:
    text = utterance.strip()
    return text.rstrip(".。") if len(text.split()) <= _LONGEST_NAME else text


def _long_date(day: date, language: str) -> str:
    from babel import localedata
    from babel.dates import format_date

    return format_date(day, "long", locale=language if localedata.exists(language) else "en")
