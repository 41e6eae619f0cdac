"""What a reply is made of, and what was heard of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agents.base.errors import GloveError
from audio.heard import HeardTracker


@dataclass
class Part:
    """One model response on its way to the ear.

    ``offset``: samples of the reply that were queued before its first. ``heard``: whether anything of it had been
    played when the reply was cut.
    """

    reply_id: str
    language: str
    tracker: HeardTracker = field(default_factory=HeardTracker)
    sentences: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue[str | None])
    text: str = ""
    offset: int | None = None
    closed: bool = False
    heard: bool = False
    fault: GloveError | None = None


@dataclass(frozen=True)
class HeardReport:
    """What was heard of one model response."""

    reply_id: str
    text: str
    complete: bool
