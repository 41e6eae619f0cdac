"""What may become a turn: set from outside, asked by all parts of the turn engine."""

from __future__ import annotations

from collections.abc import Callable


class Addressed:
    """What of the things people say is meant for the agent.

    Attributes:
        takes_floor: which texts may become a turn; None: all. While it is set, speech does not pause the agent, and a
            text that it accepts cuts the agent at once.
        trim: takes off a transcript what is not meant for the agent (a wake phrase).
        context: what was said before, for the detector: (``user`` or ``assistant``, text), oldest first.
        expects: whether a text in a language is an answer that is waited for; it is a turn even if it is only a nod.
    """

    def __init__(self) -> None:
        self.takes_floor: Callable[[str], bool] | None = None
        self.trim: Callable[[str], str] = str.strip
        self.context: Callable[[], tuple[tuple[str, str], ...]] = tuple
        self.expects: Callable[[str, str], bool] = lambda text, language: False
