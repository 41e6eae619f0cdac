"""Something that happened by itself, outside the conversation, as it is handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from agents.base.errors import GloveError
from agents.core.messages import ContentPart, content_parts, parts_text

WhenIdle = Literal["wake", "defer", "auto"]
Disposition = Literal["queued", "woke", "deferred", "dropped", "duplicate"]
"""What became of an event that was handed in."""

LONGEST_NAME = 512
"""Longest id, source or kind of an event, in characters; ids are remembered."""


class BadEvent(GloveError, ValueError):
    """An event that nobody could take in."""

    def __init__(self, message: str) -> None:
        super().__init__("ERR_EVENT", message, "Mend the event and send it again.")

    def __reduce__(self) -> tuple[Any, ...]:
        return BadEvent, (self.message,)


@dataclass(frozen=True)
class ExternalEvent:
    """Something that happened outside the conversation.

    Attributes:
        id: chosen by the sender; the same id twice is one event.
        source: who tells, for example ``webhook:ci``.
        kind: what it is, for example ``build.finished``.
        content: text, or parts of text and media. Information, never instructions.
        when_idle: ``wake`` starts a turn, ``defer`` waits for the user's next message, ``auto`` lets the policy decide.
        expires_at: aware; from then on the event is of no use and is dropped.
        received_at: aware; when it was handed in.

    Raises:
        BadEvent: ``ERR_EVENT``, an id, source or kind that is empty or longer than ``LONGEST_NAME``, an unknown
            ``when_idle``, a time that is not aware.
        GloveError: ``ERR_CONTENT``.
    """

    id: str
    source: str
    kind: str
    content: str | Sequence[ContentPart]
    when_idle: WhenIdle = "auto"
    expires_at: datetime | None = None
    received_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("id", "source", "kind"):
            if not _is_name(getattr(self, name)):
                raise BadEvent(f"The {name} of an event is text of 1 to {LONGEST_NAME} characters.")
        if self.when_idle not in get_args(WhenIdle):
            raise BadEvent(f"An event can wait for {', '.join(get_args(WhenIdle))}, not for {self.when_idle!r}.")
        if not all(_is_aware(at) for at in (self.expires_at, self.received_at)):
            raise BadEvent("The times of an event are datetimes with a time zone.")
        if not isinstance(self.content, str):
            object.__setattr__(self, "content", content_parts(self.content, "The content of an event"))

    def expired(self, now: datetime) -> bool:
        """Whether it is of no use any more."""
        return self.expires_at is not None and now >= self.expires_at

    @property
    def text(self) -> str:
        """Its words, without media."""
        if isinstance(self.content, str):
            return self.content
        return parts_text(self.content)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME


def _is_aware(at: object) -> bool:
    return at is None or (isinstance(at, datetime) and at.utcoffset() is not None)
