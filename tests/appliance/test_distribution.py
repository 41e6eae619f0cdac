"""What is installed is locked by hash, addresses nobody, and may be shipped."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.appliance.conftest import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")


def entries(lock: str) -> dict[str, list[str]]:
    """Requirement line → its hashes."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in (ROOT / lock).read_text().splitlines():
        if line.startswith("    --hash="):
            found[name].append(line.strip().removesuffix(" \\"))
        else:
            name = line.removesuffix(" \\")
            found[name] = []
    return found


def names(lock: str) -> set[str]:
    return {re.split(r"[=\s;\[]", line)[0] for line in entries(lock)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes(lock: str) -> None:
    for requirement, hashes in entries(lock).items():
        assert re.match(r"[a-z0-9][a-z0-9.-]*==[^\s;]+( ; .+)?$", requirement), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", value) for value in hashes), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_no_address_and_no_torch(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert not re.search(r"^--?(i|index|extra-index|find-links)", text, re.MULTILINE)
    assert not {"torch", "torchaudio", "torchvision"} & names(lock)


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def wanted(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=\s;\[]", requirement)[0].lower().replace("_", "-") for requirement in requirements}

    runtime = wanted(project["project"]["dependencies"]) | {"silero-vad"}
    assert runtime <= names("requirements.lock")
    assert names("requirements.lock") | wanted(project["dependency-groups"]["dev"]) <= names("requirements-dev.lock")


def test_tests_run_on_the_versions_that_are_shipped() -> None:
    assert set(entries("requirements.lock")) <= set(entries("requirements-dev.lock"))


@pytest.mark.parametrize("script", ["setup", "run", "test", "check", "lock", "../.ci/run"])
def test_scripts_are_executable_and_fail_early(script: str) -> None:
    path = ROOT / "scripts" / script
    assert path.stat().st_mode & 0o111
    assert "set -euo pipefail" in path.read_text()
    subprocess.run(["bash", "-n", path], check=True)


def test_setup_refuses_unknown_options() -> None:
    ended = subprocess.run([ROOT / "scripts/setup", "--everything"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "usage" in ended.stderr


def licences(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(ROOT / "scripts" / "licences"), *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_nothing_forbidden_is_locked() -> None:
    ended = licences("--check")
    assert ended.returncode == 0, ended.stderr


def test_the_codecs_inside_av_are_known() -> None:
    source = (ROOT / "scripts" / "licences").read_text()
    page = (ROOT / "docs" / "licences.md").read_text()
    for library in re.findall(r'"av: (\w+)"', source):
        assert library in page
