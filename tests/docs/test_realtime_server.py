"""The page about the realtime server says what is so: its client runs against the command, its tables are complete."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.commands.serve import MESSAGE_BYTES
from realtime.serving.limits import DEFAULT
from tests.docs.pages import ROOT, Example, Page, printed_by, quoted

PAGE = Page("realtime-server.md")
ADDRESS = "127.0.0.1:8790"
CONFIG = """\
[speech]
stt = "simulated"
tts = "simulated"
[model]
provider = "none"
[store]
path = "memory"
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address at which the command serves, as its output says."""
    (tmp_path / "glove.toml").write_text(CONFIG)
    process = subprocess.Popen(
        [sys.executable, "-c", "from appliance.entry import main; main()", "serve-realtime", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        promised = PAGE.text.split("$ glove serve-realtime\n")[1].splitlines()[:2]
        assert [re.sub(r":\d+/", ":8790/", line.strip()) for line in lines] == promised
        found = re.search(r"//([\d.:]+)/", lines[1])
        assert found is not None
        yield found[1]
    finally:
        process.terminate()
        process.wait(20)


def test_the_client_of_the_page_is_answered(server: str) -> None:
    section = next(section for section in PAGE.sections if section.title == "A client")
    here = [Example(one.code.replace(ADDRESS, server), one.output, one.line) for one in section.examples]
    moved = type(section)(section.title, section.text, tuple(here))
    for example, printed in asyncio.run(printed_by(PAGE, moved)):
        assert printed == example.output


def test_every_code_is_listed_and_no_other() -> None:
    listed = [code for row in PAGE.table("code") for code in quoted(row[0])]
    paths = [*(ROOT / "realtime/serving").glob("*.py"), *(ROOT / "appliance").rglob("serve*.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    assert sorted(listed) == sorted(set(re.findall(r'"(ERR_SERVE_\w+)"', source)))


def test_the_limits_are_those_in_force() -> None:
    values = {row[0]: row[1] for row in PAGE.table("limit")}
    assert values["silence of the client"] == f"{DEFAULT.idle_s / 60:g} minutes"
    assert values["a message"] == f"{MESSAGE_BYTES >> 20} MiB"
    assert values["sound that waits to be committed"] == f"{DEFAULT.buffer_s:g} s"
    assert values["a turn"] == f"{DEFAULT.turn_s:g} s"
    assert values["items"] == str(DEFAULT.items) and values["tools"] == str(DEFAULT.tools)
    assert values["text of an item, instructions"] == f"{DEFAULT.text_chars:,} characters".replace(",", " ")
    assert values["an answer without a sign of life"] == f"{DEFAULT.answer_s:g} s"
    assert values["events that are not read"] == f"{DEFAULT.unsent_events}, and {DEFAULT.reads_s:g} s for each"
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "realtime/serving").glob("*.py"))
    for row in PAGE.table("limit"):
        for code in quoted(row[2]):
            assert code == "failed" or f'"{code}"' in source
