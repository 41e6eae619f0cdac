"""The contract of spoken questions.

A slot of the display stack has a *renderer*. A renderer's ``SpokenForm`` turns the slot's input into a ``Dialogue``:
what to say, and what an utterance means as an answer. Dialogues are values: hearing something gives a verdict and
changes nothing, so that an utterance may be tried before it is decided whether it counts.

A third party brings its own form as metadata of its renderer::

    display.register_renderer("seat_map", {SPOKEN: lambda value: SeatDialogue(value["seats"])})
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

SPOKEN = "spoken"
"""Key of a renderer's metadata under which its ``SpokenForm`` is found."""


@dataclass(frozen=True)
class Understood:
    """The whole question is answered. ``value`` is what a screen would have sent."""

    value: Any


@dataclass(frozen=True)
class GoesOn:
    """This part is answered; ``dialogue`` asks the next one."""

    dialogue: Dialogue


@dataclass(frozen=True)
class NotUnderstood:
    """No answer to this question."""


@dataclass(frozen=True)
class Refused:
    """The user does not want to answer ("cancel")."""


Verdict = Understood | GoesOn | NotUnderstood | Refused


class Dialogue(Protocol):
    """One question, or the part of it that is asked next. Languages are BCP-47 primary tags."""

    @property
    def takes_anything(self) -> bool:
        """Whether any words are an answer; then nothing counts as one that was said before the question was heard."""
        ...

    def question(self, language: str) -> str:
        """What to say."""
        ...

    def again(self, language: str) -> str:
        """The same in other words, after an answer that was not understood."""
        ...

    def hear(self, utterance: str, language: str) -> Verdict:
        """What ``utterance`` means as an answer. Has no effect."""
        ...


SpokenForm = Callable[[Any], Dialogue]
"""Makes a dialogue of a slot's input. Raises ``ValueError`` (pydantic's errors are such) for input it cannot ask."""
