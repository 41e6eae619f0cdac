"""Command lines run in this process, in an empty folder, with nothing of the user's own configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance import entry


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def err_lines(self) -> list[str]:
        return self.err.splitlines()


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
    monkeypatch.setattr("appliance.configfile.SYSTEM_FILE", tmp_path / "etc" / "glove.toml")
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
