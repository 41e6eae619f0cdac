"""Help and version answer at once and tell the truth about the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.commands.table import COMMANDS
from tests.appliance.conftest import Ended

ROOT = Path(__file__).resolve().parents[2]
Glove = Callable[..., Ended]
HEAVY = ("numpy", "onnxruntime", "pydantic", "typer", "rich", "structlog", "ctranslate2", "anthropic", "asyncio")


def test_help_lists_every_command(glove: Glove) -> None:
    page = glove("--help").out
    for entry in COMMANDS:
        assert f"  {entry.name} " in page
        assert entry.summary in page


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_explains_itself(name: str, glove: Glove) -> None:
    ended = glove(name, "--help")
    assert ended.code == 0
    assert f"glove {name}" in ended.out
    assert "completion" not in ended.out


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_simple_questions_load_no_library(argument: str) -> None:
    program = (
        "import sys; from appliance.entry import run; code = run(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, argument],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "[] 0"


def test_config_show_names_values_and_origins(glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("glove.toml").write_text("[turns]\nvad = 'energy'\n")
    monkeypatch.setenv("GLOVE_LOG__LEVEL", "info")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-hidden-value")
    page = glove("config", "show").out
    lines = {line.partition(" = ")[0]: line for line in page.splitlines()}
    assert '"energy"' in lines["vad"]
    assert lines["vad"].endswith("# glove.toml")
    assert lines["level"].endswith("# environment GLOVE_LOG__LEVEL")
    assert lines["redemption_ms"].endswith("# default")
    assert "ANTHROPIC_API_KEY set" in page
    assert "hidden" not in page


def test_config_show_names_the_secret_of_the_configured_provider(glove: Glove) -> None:
    Path("glove.toml").write_text("[model]\nprovider = 'openai'\n")
    assert "OPENAI_API_KEY not set" in glove("config", "show").out


def test_what_config_show_prints_is_a_configuration(glove: Glove, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(glove("config", "show").out)
    assert glove("config", "check", "--config", copy).code == 0


def test_config_check_names_every_mistake(glove: Glove) -> None:
    Path("glove.toml").write_text("[turns]\nvad = 'ears'\nmode = 'x'\n")
    ended = glove("config", "check")
    assert ended.code == 2
    assert [line.split()[1] for line in ended.err_lines] == ["turns.mode", "turns.vad"]
