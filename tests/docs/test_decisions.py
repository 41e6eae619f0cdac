"""Every decision that is written down names tests that are there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, Page

PAGE = Page("decisions.md")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.text)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_test_that_shows_it_is_there(file: str, name: str) -> None:
    source = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), f"tests/{file} has no {name}"


def test_every_decision_is_shown_unless_it_is_about_what_is_not_there() -> None:
    rows = [row for table in PAGE.text.split("\n| topic |")[1:] for row in table.split("\n\n")[0].splitlines()[2:]]
    assert len(rows) > 20
    for row in rows:
        assert "::test_" in row or "not built yet" in row or "there is no such setting" in row, row
