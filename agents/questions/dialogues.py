"""Dialogues of one question each: yes or no, one of several, and free words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents.questions.choices import Option, chosen
from agents.questions.contract import NotUnderstood, Refused, Understood, Verdict
from agents.questions.polar import Polarity, is_stop, polarity
from agents.questions.sentences import either, phrase, sentence

Words = Callable[[str], str]
"""A text that depends on the language it is said in."""

_BETWEEN = re.compile(r"\s*[,;、]\s*|\s+(?:and|und|et|y|e)\s+|と", re.IGNORECASE)
"""What stands between several answers."""

MOST_READ = 6
"""How many options are read aloud; who wants one of the others knows it from the screen."""


@dataclass(frozen=True)
class YesNo:
    """A question answered by yes or no.

    Attributes:
        text: the question.
    """

    text: Words
    takes_anything = False

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        return self.text(language)

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        return f"{phrase('yes_or_no', language)} {self.text(language)}"

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        if is_stop(utterance, language):
            return Refused()
        said = polarity(utterance, language)
        return NotUnderstood() if said is None else Understood(said is Polarity.YES)


@dataclass(frozen=True)
class Choice:
    """A question answered by one of ``options``; the answer is its value."""

    text: str
    options: tuple[Option, ...]
    takes_anything = False

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        return f"{sentence(self.text)} {phrase('one_of', language, options=self._read(language))}".strip()

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        return phrase("one_of_again", language, options=self._read(language))

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        option = chosen(utterance, self.options, language)
        if option is not None:
            return Understood(option.value)
        return Refused() if is_stop(utterance, language) else NotUnderstood()

    def _read(self, language: str) -> str:
        return either([option.label for option in self.options[:MOST_READ]], language)


@dataclass(frozen=True)
class Several(Choice):
    """A question answered by one or more of ``options``; the answer is a list of values."""

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        parts = [part for part in _BETWEEN.split(utterance) if part.strip()]
        found = [chosen(part, self.options, language) for part in parts]
        if len(parts) > 1 and all(found):
            return Understood(list(dict.fromkeys(option.value for option in found if option is not None)))
        one = super().hear(utterance, language)
        return Understood([one.value]) if isinstance(one, Understood) else one


@dataclass(frozen=True)
class Verbatim:
    """A question whose answer is what was said, word for word."""

    text: Words
    takes_anything = True

    def question(self, language: str) -> str:
        """See ``Dialogue``."""
        return self.text(language)

    def again(self, language: str) -> str:
        """See ``Dialogue``."""
        return phrase("again", language, question=self.text(language))

    def hear(self, utterance: str, language: str) -> Verdict:
        """See ``Dialogue``."""
        if is_stop(utterance, language):
            return Refused()
        said: Any = utterance.strip()
        return Understood(said) if said else NotUnderstood()
