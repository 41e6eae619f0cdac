"""The page about agents says what is so: its examples run, and its tables are complete."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from typing import get_args

import pytest

from agents import testing
from agents.base.clock import run_virtual
from agents.core import display, events
from agents.core.external_event import Disposition
from agents.core.runtime_context import DELIVERIES
from agents.core.tool import Tool
from agents.models.provider_table import PROVIDERS
from agents.stores.memory import MemoryStore
from agents.web.tools.ready_made import ready_made_tools
from tests.docs.pages import ROOT, Page, Section, printed_by, quoted

PAGE = Page("agents.md")


@pytest.mark.parametrize("section", PAGE.sections, ids=lambda section: section.title)
def test_the_examples_print_what_the_page_says(section: Section) -> None:
    morning = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
    for example, printed in run_virtual(printed_by(PAGE, section), wall_start=morning):
        assert printed == example.output, f"{PAGE.path}:{example.line}"


def test_every_example_that_prints_says_what() -> None:
    for section in PAGE.sections:
        for example in section.examples:
            assert bool(example.output) == ("print(" in example.code), f"{PAGE.path}:{example.line}"


def test_every_event_is_listed_with_its_fields() -> None:
    known = {kind.type: [field.name for field in dataclasses.fields(kind)] for kind in _kinds(events.AgentEvent)}
    assert {quoted(row[0])[0]: quoted(row[1]) for row in PAGE.table("event")} == known


def test_every_event_of_the_display_is_listed() -> None:
    known = {
        kind.type: [field.name for field in dataclasses.fields(kind)]
        for kind in (display.SlotPushed, display.SlotUpdated, display.SlotTouched, display.SlotResolved)
    }
    assert {quoted(row[0])[0]: quoted(row[1]) for row in PAGE.table("on the display")} == known


def test_every_option_of_a_tool_is_explained() -> None:
    assert [name for row in PAGE.table("of a tool") for name in quoted(row[0])] == [
        field.name for field in dataclasses.fields(Tool)
    ]


def test_every_ready_made_tool_is_listed() -> None:
    assert [quoted(row[0])[0] for row in PAGE.table("ready-made")] == [tool.name for tool in ready_made_tools()]


def test_every_provider_is_listed_with_what_it_takes() -> None:
    listed = {quoted(row[0])[0]: row[1:] for row in PAGE.table("provider")}
    assert list(listed) == list(PROVIDERS)
    for name, (key, model, protocol, media, tokens) in listed.items():
        provider = PROVIDERS[name]
        assert quoted(key) == ([provider.env] if provider.env else []), name
        assert quoted(model) == ([provider.model] if provider.model else []), name
        assert protocol == provider.format, name
        assert set(media.split(", ")) == provider.media, name
        assert int(tokens) == provider.max_tokens, name


def test_every_disposition_delivery_and_group_of_stores_is_explained() -> None:
    for heading, known in (
        ("disposition", get_args(Disposition)),
        ("delivery", DELIVERIES),
        ("group", MemoryStore.supports),
    ):
        named = [word for row in PAGE.table(heading) for word in re.findall(r"`(\w+)`", row[0])]
        assert set(known) <= set(named), heading


def test_every_double_is_named() -> None:
    section = next(section for section in PAGE.sections if section.title == "Test doubles")
    assert set(testing.__all__) <= set(re.findall(r"\w+", section.text))


def test_every_error_code_is_listed_and_no_other() -> None:
    listed = [code for row in PAGE.table("code") for code in quoted(row[0])]
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "agents").rglob("*.py")))
    raised = set(re.findall(r'"(ERR_[A-Z0-9_]+)"', source))
    assert len(listed) == len(set(listed))
    assert set(listed) == raised


def _kinds(base: type[events.AgentEvent]) -> list[type[events.AgentEvent]]:
    return [kind for kind in base.__subclasses__() if kind.__module__ == events.__name__]
