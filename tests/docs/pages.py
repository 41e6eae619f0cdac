"""Pages of documentation as programs: their examples, run in order, and their tables."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog.testing

ROOT = Path(__file__).resolve().parents[2]

_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One block of code, and what the page says that it prints. ``line`` is where its code begins on the page."""

    code: str
    output: str
    line: int


@dataclass(frozen=True)
class Section:
    """A heading of the second level and the examples under it."""

    title: str
    text: str
    examples: tuple[Example, ...]


class Page:
    """A page of ``docs``."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / "docs" / name
        self.text = self.path.read_text(encoding="utf-8")

    @property
    def sections(self) -> list[Section]:
        """All sections, in order."""
        starts = [*(found.start() for found in re.finditer(r"^## ", self.text, re.MULTILINE)), len(self.text)]
        return [self._section(start, end) for start, end in itertools.pairwise(starts)]

    def table(self, heading: str) -> list[list[str]]:
        """The cells of the table whose first heading is ``heading``, row by row, without the headings."""
        after = self.text.split(f"\n| {heading} |", 1)[1]
        rows = after.split("\n\n", 1)[0].splitlines()[2:]
        return [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in rows]

    def _section(self, start: int, end: int) -> Section:
        text = self.text[start:end]
        examples = [
            Example(found["code"], found["output"] or "", self.text.count("\n", 0, start + found.start("code")) + 1)
            for found in _BLOCK.finditer(text)
        ]
        return Section(text.splitlines()[0].removeprefix("## "), text, tuple(examples))


async def printed_by(page: Page, section: Section, given: Mapping[str, Any] | None = None) -> list[tuple[Example, str]]:
    """Run the examples of ``section`` one after the other, as one program. Returns what each of them printed.

    ``given`` are names that the page takes for granted. What goes wrong is reported with the line of the page.
    """
    names: dict[str, Any] = {"__name__": "example", **(given or {})}
    return [(example, await _printed(page, example, names)) for example in section.examples]


async def _printed(page: Page, example: Example, names: dict[str, Any]) -> str:
    source = "\n" * (example.line - 1) + example.code
    code = compile(source, str(page.path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), structlog.testing.capture_logs():
        value = eval(code, names)
        if inspect.isawaitable(value):
            await value
    return printed.getvalue()


def quoted(cell: str) -> list[str]:
    """What stands in back-ticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)
