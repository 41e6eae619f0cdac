"""The standard streams of a process that somebody may have started without them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from agents.base.errors import InputError

STREAM = Path("-")
"""What stands for standard input or output where a file is named."""


def plug() -> None:
    """Let no file that is opened later take the place of a closed standard stream, where messages would overwrite it.

    Standard input and output stay unusable for those who need them; messages to a closed standard error go nowhere.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is when it was closed at the start
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as the process


def standard_input() -> TextIO:
    """Standard input. Raises ``InputError`` if the process was started without it."""
    return _present(sys.stdin, "input")


def standard_output() -> TextIO:
    """Standard output. Raises ``InputError`` if the process was started without it."""
    return _present(sys.stdout, "output")


def _present(stream: TextIO | None, name: str) -> TextIO:
    if stream is None:
        raise InputError("ERR_USAGE", f"Standard {name} is closed.", "Start the command with it open.")
    return stream
