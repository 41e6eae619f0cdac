"""The page about Wyoming: its settings are valid, and its limits, events and codes are those of the program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from appliance.config.schema import GloveConfig
from appliance.wyoming import answering, client, recognising, requests, server, speaking
from audio.providers.wyoming.wire import FROM_CLIENTS
from tests.docs.pages import ROOT, Page

PAGE = Page("wyoming.md")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", PAGE.text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_settings_are_valid(example: str) -> None:
    GloveConfig(**tomllib.loads(example))


def test_there_are_settings() -> None:
    assert len(EXAMPLES) == 2


def test_the_limits_are_those_in_force() -> None:
    limits = dict(PAGE.table("limit"))
    sizes = f"{FROM_CLIENTS.line >> 10} KiB, {FROM_CLIENTS.data >> 10} KiB, {FROM_CLIENTS.payload >> 20} MiB"
    assert limits == {
        "clients": f"{server.MOST_CLIENTS}, of one address {server.MOST_PER_ADDRESS}",
        "first line, data, payload of an event": sizes,
        "utterance": f"{recognising.LONGEST_S:g} s",
        "text": f"{speaking.MOST_CHARS:,} characters",
        "silence of a client": f"{client.IDLE_S:g} s",
        "a client that does not read": f"{client.READS_S:g} s",
        "an answer of the agent": f"{answering.ANSWER_S:g} s",
    }


def test_every_event_that_is_served_is_named() -> None:
    named = {name for row in PAGE.table("a client sends") for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert named | {"audio-start", "audio-chunk", "audio-stop"} == set(requests.SERVED)


def test_every_code_of_the_programs_is_described() -> None:
    files = [*(ROOT / "appliance" / "wyoming").glob("*.py"), *(ROOT / "audio/providers/wyoming").glob("*.py")]
    used = {code for file in files for code in codes(file)}
    assert used == {row[0].strip("`") for row in PAGE.table("code")}


def codes(file: Path) -> set[str]:
    return set(re.findall(r'"(ERR_(?:WYOMING|WAKE)_[A-Z]+)"', file.read_text(encoding="utf-8")))
