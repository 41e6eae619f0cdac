"""The page about speech-to-speech says what is so: its examples run, and its tables are complete."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from pydantic import BaseModel

from agents.base.clock import run_virtual
from realtime.s2s import events
from realtime.s2s.contract import Capabilities, S2SAdapter
from realtime.s2s.gemini import adapter as gemini
from realtime.s2s.gemini.messages import GeminiSettings
from realtime.s2s.openai import adapter as openai
from realtime.s2s.openai.messages import OpenAISettings
from realtime.s2s.turn_detection import ActivityDetection, SemanticVad, ServerVad
from realtime.testing import steps
from realtime.testing.peer import Refuse
from tests.docs.pages import ROOT, Page, Section, printed_by, quoted

PAGE = Page("speech-to-speech.md")
ADAPTERS: dict[str, tuple[type[S2SAdapter], Any]] = {
    "openai": (openai.OpenAIRealtime, openai),
    "gemini": (gemini.GeminiLive, gemini),
}


@pytest.mark.parametrize("section", PAGE.sections, ids=lambda section: section.title)
def test_the_examples_print_what_the_page_says(section: Section) -> None:
    for example, printed in run_virtual(printed_by(PAGE, section)):
        assert printed == example.output, f"{PAGE.path}:{example.line}"


def test_every_provider_is_listed() -> None:
    rows = {quoted(row[0])[0]: row[1:] for row in PAGE.table("provider")}
    assert set(rows) == set(ADAPTERS)
    for name, (adapter, rates, key, address) in rows.items():
        kind, module = ADAPTERS[name]
        assert quoted(adapter) == [kind.__name__] and kind.provider == name
        assert rates == f"{kind.input_format.rate_hz // 1000} kHz, {kind.output_format.rate_hz // 1000} kHz"
        assert quoted(key) == [module.KEY] and quoted(address) == [module.API]


def test_what_they_can_do_is_said() -> None:
    heading = "\n| | `openai` | `gemini` |\n"
    rows = [row.split("|")[1:-1] for row in PAGE.text.split(heading)[1].split("\n\n")[0].splitlines()[1:]]
    assert [quoted(row[0])[0] for row in rows] == [field.name for field in dataclasses.fields(Capabilities)]
    for name, *cells in rows:
        for (kind, _), cell in zip(ADAPTERS.values(), cells, strict=True):
            value = getattr(kind.capabilities, quoted(name)[0])
            told = {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value:g}"
            assert cell.strip() == told, name


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [("kind", (SemanticVad, ServerVad, ActivityDetection)), ("settings", (OpenAISettings, GeminiSettings))],
)
def test_every_setting_is_listed_with_its_default(heading: str, kinds: tuple[type[BaseModel], ...]) -> None:
    listed = [(quoted(row[0])[0], quoted(row[1])[0], quoted(row[2])[0]) for row in PAGE.table(heading)]
    known = [
        (kind.__name__, name, _default(field.get_default(call_default_factory=True)))
        for kind in kinds
        for name, field in kind.model_fields.items()
        if name != "type"
    ]
    assert listed == known


def _default(value: object) -> str:
    return f"{type(value).__name__}()" if isinstance(value, BaseModel) else str(value)


def test_every_variable_is_listed() -> None:
    source = (ROOT / "realtime/s2s/create.py").read_text(encoding="utf-8")
    read = set(re.findall(r'_read\(environment, "(S2S_\w+)"\)', source)) | {
        f"S2S_{name.upper()}" for name in re.findall(r'_unless_set\(settings, "(\w+)"', source)
    }
    assert {quoted(row[0])[0] for row in PAGE.table("variable")} == read


def test_every_event_is_listed_with_its_fields() -> None:
    known = {kind.type: [field.name for field in dataclasses.fields(kind)] for kind in events.S2SEvent.__subclasses__()}
    assert {quoted(row[0])[0]: quoted(row[1]) for row in PAGE.table("event")} == known


def test_every_code_is_listed_and_no_other() -> None:
    listed = [code for row in PAGE.table("code") for code in quoted(row[0])]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "realtime/s2s").rglob("*.py"))
    assert set(listed) == set(re.findall(r'"(ERR_S2S_\w+)"', source)) and len(set(listed)) == len(listed)


def test_every_step_of_scripts_is_listed() -> None:
    steps_of_the_package = (k for k in steps.Step.__subclasses__() if k.__module__.startswith("realtime.testing."))
    known = {kind.__name__ for kind in steps_of_the_package}
    assert Refuse.__name__ in known
    assert {quoted(row[0])[0] for row in PAGE.table("step")} == known


def test_the_states_of_a_link_and_the_events_of_an_agent_are_listed() -> None:
    from realtime import agent_events
    from realtime.link_state import LinkMoved, LinkState, SessionReplaced

    assert [quoted(row[0])[0] for row in PAGE.table("state of the link")] == [state.value for state in LinkState]
    kinds: list[Any] = [kind for kind in vars(agent_events).values() if isinstance(kind, type)]
    kinds = [kind for kind in kinds if issubclass(kind, agent_events.RealtimeEvent)]
    wanted = {
        kind.type: [field.name for field in dataclasses.fields(kind)]
        for kind in (*kinds, LinkMoved, SessionReplaced)
        if kind is not agent_events.RealtimeEvent
    }
    assert {quoted(row[0])[0]: quoted(row[1]) for row in PAGE.table("event of an agent")} == wanted
