"""The commands in the documents work as written, in the order they are written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.appliance.conftest import ROOT, Ended

Glove = Callable[..., Ended]
DOCUMENTS = ("README.md", "docs/configuration.md", "docs/metrics.md")
PAGES = ("README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))))
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
OTHER_TESTS = {"scripts/run", "scripts/test", "scripts/setup", "scripts/check"}
"""Alone these set up, listen until stopped, or run this test: not from inside a test."""


def commands_of(document: str) -> list[list[str]]:
    """Every command line in ``document``: ``glove ARGUMENTS``, also as ``scripts/run ARGUMENTS``, and ``mkdir``."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found: list[list[str]] = []
    for block in CONSOLE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ ") and line[2:] not in OTHER_TESTS:
                program, *arguments = shlex.split(line[2:])
                assert program in ("glove", "scripts/run", "mkdir"), f"{document}: how is {line!r} to be tested?"
                found.append([program, *arguments])
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_work_in_order(document: str, glove: Glove, weights_here: None) -> None:
    commands = commands_of(document)
    assert commands
    for program, *arguments in commands:
        if program == "mkdir":
            Path(arguments[-1]).mkdir()
            continue
        ended = glove(*arguments)
        assert ended.code == 0, f"glove {' '.join(arguments)}: {ended.err}"
        if arguments[0] == "listen":
            assert "good morning" in ended.out.lower()


@pytest.mark.parametrize("document", PAGES)
def test_links_lead_somewhere(document: str) -> None:
    page = ROOT / document
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), f"{document}: {target}"


def test_every_script_that_is_named_exists() -> None:
    for document in PAGES:
        for name in re.findall(r"scripts/[a-z-]+", (ROOT / document).read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), f"{document}: {name}"
