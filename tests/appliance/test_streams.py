"""Commands that are started without one of the standard streams."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.appliance.conftest import ROOT, SIMULATED

INPUT, OUTPUT, ERROR = 0, 1, 2


def without(*closed: int) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``glove`` with standard streams closed."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        shut = "; ".join(f"os.close({number})" for number in closed)
        again = f"os.execv(sys.executable, [sys.executable, '-c', {START!r}, *sys.argv[1:]])"
        program = [sys.executable, "-c", f"import os, sys; {shut}; {again}", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60, **options)

    return run


START = "from appliance.entry import main; main()"


@pytest.fixture(autouse=True)
def simulated() -> None:
    Path("glove.toml").write_text(SIMULATED)


@pytest.mark.parametrize(
    ("closed", "arguments", "name"),
    [
        (INPUT, ["talk", "--in", "-", "--out", "o.wav"], "input"),
        (OUTPUT, ["talk", "--say", "hello", "--out", "-"], "output"),
        (INPUT, ["say", "-", "--out", "o.wav"], "input"),
        (OUTPUT, ["say", "hello", "--out", "-"], "output"),
    ],
)
def test_a_stream_that_is_needed_is_named(closed: int, arguments: list[str], name: str) -> None:
    ended = without(closed)(*arguments)
    assert ended.returncode == 2
    assert ended.stderr == f"glove: Standard {name} is closed. Start the command with it open.\n"


@pytest.mark.parametrize("closed", [(INPUT,), (OUTPUT,), (ERROR,), (INPUT, OUTPUT, ERROR)])
def test_a_stream_that_is_not_needed_is_not_missed(closed: tuple[int, ...]) -> None:
    ended = without(*closed)("talk", "--say", "hello", "--out", "o.wav", "--pace", "fast")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert Path("o.wav").stat().st_size > 48_000


def test_messages_never_end_up_in_a_file_that_took_the_place_of_standard_error() -> None:
    Path("bad.wav").write_bytes(b"RIFF")
    ended = without(ERROR)("talk", "--in", "bad.wav", "--out", "o.wav", "--events", "events.jsonl")
    assert (ended.returncode, ended.stdout) == (2, "")
    for path in (Path("o.wav"), Path("events.jsonl")):
        assert not path.exists() or b"glove:" not in path.read_bytes()
