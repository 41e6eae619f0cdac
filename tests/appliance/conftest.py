"""Command lines run in this process, in an empty folder, with nothing of the user's own configuration."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from appliance import entry

ROOT = Path(__file__).resolve().parents[2]

SIMULATED = """\
[speech]
stt = "simulated"
tts = "simulated"
[turns]
vad = "energy"
[model]
provider = "simulated"
[simulated]
reply = "One two three."
"""
"""A configuration in which nothing but the appliance itself is real."""


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def err_lines(self) -> list[str]:
        return self.err.splitlines()


def glove_process(*arguments: str, text: bool = True, **pipes: int) -> subprocess.Popen[Any]:
    """``glove`` in a process of its own, from this source tree; it hears Ctrl-C even where the tests do not."""
    program = [sys.executable, "-c", "from appliance.entry import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(  # type: ignore[call-overload]
        program, env=environment, text=text, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **pipes
    )


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder and home; no variable of ours is set except where weights are kept."""
    for name in list(os.environ):
        if name.startswith("GLOVE_") and name not in ("GLOVE_WEIGHTS_DIR", "GLOVE_WEIGHTS_SOURCES", "GLOVE_SHARED"):
            monkeypatch.delenv(name)
    if "GLOVE_WEIGHTS_DIR" not in os.environ:
        from agents.base.weights import default_root

        monkeypatch.setenv("GLOVE_WEIGHTS_DIR", str(default_root()))
    for name in ("ANTHROPIC_API_KEY", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setattr("appliance.config.file.SYSTEM_FILE", tmp_path / "etc" / "glove.toml")
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def glove(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs ``glove`` with the given arguments."""

    def run(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        code = entry.run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Commands set up logging for their whole process; the next test gets it as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def weights_here() -> None:
    """Skips where the weights in use are not on this machine and cannot be fetched."""
    from agents.base.errors import GloveError
    from appliance.config.schema import GloveConfig
    from appliance.session.stock import needed_weights, weights_store

    config = GloveConfig()
    try:
        weights_store(config).pull(needed_weights(config))
    except GloveError as fault:
        pytest.skip(fault.message)
