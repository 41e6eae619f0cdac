"""The page about LiveKit says what is so: its example runs, its settings load, its tables are complete."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

import pytest

from agents.base.clock import run_virtual
from appliance.commands import table as commands
from appliance.config.places import LiveKitConfig
from appliance.config.schema import GloveConfig
from tests.docs.pages import ROOT, Page, Section, printed_by, quoted

PAGE = Page("livekit.md")
SOURCES = [*(ROOT / "realtime" / "livekit").glob("*.py"), *(ROOT / "appliance" / "livekit").glob("*.py")]


@pytest.mark.parametrize("section", PAGE.sections, ids=lambda section: section.title)
def test_the_examples_print_what_the_page_says(section: Section) -> None:
    for example, printed in run_virtual(printed_by(PAGE, section)):
        assert printed == example.output, f"{PAGE.path}:{example.line}"


def test_the_settings_of_the_page_are_valid() -> None:
    for block in re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL):
        assert GloveConfig(**tomllib.loads(block)).livekit.room == "kitchen"


def test_every_code_is_explained_and_no_other() -> None:
    raised = {code for path in SOURCES for code in re.findall(r'"(ERR_LIVEKIT_\w+)"', path.read_text("utf-8"))}
    assert {quoted(row[0])[0] for row in PAGE.table("code")} == raised


def test_every_choice_is_explained() -> None:
    fields = LiveKitConfig.model_fields
    for heading, key in (("`livekit.dispatch`", "dispatch"), ("`livekit.speakers`", "speakers")):
        assert [quoted(row[0])[0] for row in PAGE.table(heading)] == list(get_args(fields[key].annotation))


def test_the_commands_of_the_page_exist() -> None:
    import typer

    entry = commands.find("room")
    assert entry is not None
    from appliance.commands.room import app

    known = typer.main.get_command(app()).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"glove room (\w+)", PAGE.text)) == set(known)
