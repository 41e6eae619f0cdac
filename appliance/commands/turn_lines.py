"""Reading back what was measured of turns: from a file of metrics, or from the events of a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from agents.base.errors import InputError

Ms = FiniteFloat


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class TurnPause(_Told):
    """An interruption, in milliseconds from the user's last sound."""

    at_ms: Ms
    decided_ms: Ms | None = None
    cut: bool = False


class TurnTool(_Told):
    """A tool, in milliseconds from the user's last sound."""

    name: str
    at_ms: Ms
    end_ms: Ms | None = None


class TurnTimes(_Told):
    """What the metric ``turn`` holds, as far as it can be drawn; see ``audio.turn_record.TurnRecord``."""

    turn: int
    outcome: str
    stages: tuple[tuple[str, Ms, Ms], ...]
    pauses: tuple[TurnPause, ...] = ()
    tools: tuple[TurnTool, ...] = ()


class TurnLine(_Told):
    """One line about a turn. ``room`` is where, if the file says so."""

    name: str
    ms: Ms | None = None
    data: TurnTimes
    room: str = Field(default="", validation_alias="roomId")


@dataclass(frozen=True)
class Turns:
    """The turns of a file, oldest first, and how many of its lines could not be read."""

    lines: tuple[TurnLine, ...]
    broken: int = 0


def holds_metrics(path: Path) -> bool:
    """Whether ``path`` begins as a file of metrics does. Raises ``InputError`` (``ERR_EVENTS``): not readable."""
    first = next((line for line in _lines(path) if line is not None), {})
    return "ts" in first and "name" in first


def read_turns(path: Path) -> Turns:
    """The turns of the file ``path``. A line that a crash cut short is passed over.

    Raises:
        InputError: ``ERR_EVENTS``: the file cannot be read, or holds no turn.
    """
    turns: list[TurnLine] = []
    broken = 0
    for line in _lines(path):
        if line is None:
            broken += 1
        elif line.get("name") == "turn":
            try:
                turns.append(TurnLine.model_validate(line))
            except ValidationError:
                broken += 1
    if not turns:
        raise InputError(
            "ERR_EVENTS",
            f"{path} does not hold any measured turn.",
            "Take the file of metrics.file or log.events, or of glove talk --events.",
        )
    return Turns(tuple(turns), broken)


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The objects in ``path``, line by line; None for what is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.strip():
                    yield _object(line)
    except OSError as fault:
        raise InputError("ERR_EVENTS", f"{path} cannot be read.", cause=fault) from fault


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
