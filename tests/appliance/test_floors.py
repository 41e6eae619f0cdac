"""Somebody else's package of the same name must not take the place of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance import floors

ROOT = Path(__file__).resolve().parents[2]


def test_all_floors_are_ours() -> None:
    assert floors.foreign_floor() is None


def test_a_floor_that_is_missing_is_named() -> None:
    message = floors.foreign_floor(["agents", "cellar"])
    assert message is not None
    assert "cellar is missing" in message


@pytest.mark.parametrize("kind", ["package", "namespace", "module"])
def test_the_command_refuses_to_run_with_a_foreign_floor(kind: str, tmp_path: Path) -> None:
    if kind == "module":
        (tmp_path / "avatars.py").write_text("")
    else:
        (tmp_path / "avatars").mkdir()
        (tmp_path / "avatars" / ("__init__.py" if kind == "package" else "data.py")).write_text("")
    # A regular package anywhere on the path wins over a namespace package, so ours must be out of the way for that.
    source = tmp_path / "ours"
    source.mkdir()
    for name in floors.FLOORS:
        if kind != "namespace" or name != "avatars":
            (source / name).symlink_to(ROOT / name)
    program = "from appliance.entry import main; main()"
    ended = subprocess.run(
        [sys.executable, "-S", "-c", program, "--help"],  # without an installed copy of ours beside it
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{source}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "avatars" in ended.stderr
    assert "environment of its own" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
