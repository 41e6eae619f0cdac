"""A display stack whose questions are answered by a script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agents.core.display import DisplayManager, Slot, SlotPushed


@dataclass(frozen=True)
class Answer:
    """The answer to the next question.

    Attributes:
        renderer: the renderer that must show it, for example ``permission_request``.
        value: the answer, or an exception that refuses the question.
        delay_s: how long it takes, in seconds.
    """

    renderer: str
    value: Any
    delay_s: float = 0.0


@dataclass(frozen=True)
class Unanswered:
    """The next question, which nobody answers."""

    renderer: str


class ScriptedDisplay(DisplayManager):
    """A ``DisplayManager`` that answers blocking slots in the order of a script; cards are only shown.

    Args:
        script: one entry per question.

    ``shown`` holds all slots that were pushed, ``unexpected`` those questions that the script did not foresee: they are
    refused at once. ``assert_finished`` fails if there were any, or if the script was not used up.
    """

    def __init__(self, script: Iterable[Answer | Unanswered] = ()) -> None:
        super().__init__()
        self.shown: list[Slot] = []
        self.unexpected: list[Slot] = []
        self._script = list(script)
        self.events.on(SlotPushed, self._pushed)

    def assert_finished(self) -> None:
        """Raise ``AssertionError`` if a question was not expected or an answer not asked for."""
        if self.unexpected:
            raise AssertionError(f"questions that the script did not expect: {self.unexpected}")
        if self._script:
            raise AssertionError(f"{len(self._script)} answers were not asked for, the next is {self._script[0]!r}")

    def _pushed(self, event: SlotPushed) -> None:
        slot = event.slot
        self.shown.append(slot)
        if not slot.blocking:
            return
        loop = asyncio.get_running_loop()
        if not self._script or self._script[0].renderer != slot.renderer:
            self.unexpected.append(slot)
            loop.call_soon(self.reject, slot.id, AssertionError(f"the script does not expect {slot}"))
            return
        entry = self._script.pop(0)
        if isinstance(entry, Unanswered):
            return
        settle = self.reject if isinstance(entry.value, BaseException) else self.resolve
        loop.call_later(entry.delay_s, settle, slot.id, entry.value)
