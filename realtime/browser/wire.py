"""The messages that a room sends: what happens in a session, in the words of the socket's protocol."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from agents.core.display import Slot
from agents.everyday.timers import RunningTimer, TimerBook, TimerDue
from agents.web.wire import SlotChange, slot_event, slot_fields, to_json, to_text
from audio.events import (
    Discarded,
    Metric,
    ToolFinished,
    ToolUsed,
    UserPartial,
    UserTurn,
    VoiceEvent,
    VoiceFault,
)

Message = dict[str, Any]

HISTORY_TURNS = 20
"""How many turns of both sides a caller who returns is shown."""

VALUE_LIMIT = 16_000
"""Longest JSON of one card, in bytes; a longer one is sent without its content."""


def encode(message: Message) -> str:
    """One line of JSON, see ``to_text``; halves of characters become question marks."""
    return to_text(message).encode(errors="replace").decode()


@dataclass(frozen=True)
class Line:
    """One line of the transcript. ``cut`` when the rest of it was not heard."""

    who: str
    text: str
    cut: bool = False


class Transcript:
    """The last lines of both sides."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=2 * HISTORY_TURNS)

    def add(self, line: Line) -> None:
        """Append, unless it is empty."""
        if line.text.strip():
            self._lines.append(line)

    def to_json(self) -> list[Message]:
        """Oldest first."""
        return [{"who": line.who, "text": line.text, **({"cut": True} if line.cut else {})} for line in self._lines]


def voice_message(event: VoiceEvent) -> Message | None:
    """The message for an event that has one of its own and needs no state; None for the others."""
    match event:
        case UserPartial():
            return {"t": "partial", "text": event.text}
        case UserTurn():
            return {"t": "utterance", "speaker": "user", "text": event.text, "language": event.language}
        case Discarded():
            return {"t": "discarded", "reason": event.reason}
        case Metric():
            return {"t": "metric", "name": event.name, "ms": event.ms, "data": event.data}
        case VoiceFault():
            return {"t": "error", "code": event.code, "message": event.message}
        case ToolUsed():
            return {"t": "tool", "name": event.name, "phase": "started"}
        case ToolFinished():
            return {"t": "tool", "name": event.tool_name, "phase": event.status}
        case _:
            return None


def slot_message(event: SlotChange) -> Message:
    """The message for a change of the display stack."""
    told = slot_event(event)
    if "input" in told:
        told["input"] = bounded(told["input"])
    return {"t": told.pop("type"), **told}


def slot_json(slot: Slot) -> Message:
    """One card or question."""
    return {**slot_fields(slot), "input": bounded(slot.input)}


def bounded(value: Any) -> Any:
    """``value``, or a sign that it was too long."""
    return value if len(to_json(value)) <= VALUE_LIMIT else {"truncated": True}


def timers_message(timers: TimerBook) -> Message:
    """What runs and what rings. ``remaining_s`` was true when this was made."""
    return {
        "t": "timers",
        "running": [_running(timer) for timer in timers.running()],
        "ringing": [_ringing(timer) for timer in timers.ringing()],
    }


def _running(timer: RunningTimer) -> Message:
    return {
        "id": timer.id,
        "name": timer.name,
        "kind": timer.kind,
        "seconds": timer.seconds,
        "due": timer.due.isoformat(),
        "remaining_s": round(timer.remaining_s, 2),
    }


def _ringing(timer: TimerDue) -> Message:
    return {"id": timer.id, "name": timer.name, "kind": timer.kind, "seconds": timer.seconds, "missed": timer.missed}


def timers_mark(timers: TimerBook) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What must differ for ``timers_message`` to be worth sending again."""
    return (
        tuple(f"{timer.id} {timer.due.isoformat(timespec='seconds')}" for timer in timers.running()),
        tuple(timer.id for timer in timers.ringing()),
    )
