"""Names that strangers give to devices and rooms, which end up in lists on somebody else's terminal."""

from __future__ import annotations

from unicodedata import category

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
"""Unicode categories of what commands a terminal, turns the direction of writing, or is no character at all."""


def one_line(text: str) -> str:
    """``text`` without what cannot be seen, with single spaces."""
    return " ".join("".join(" " if category(each) in UNSEEN else each for each in text).split())
