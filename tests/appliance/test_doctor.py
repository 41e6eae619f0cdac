"""The doctor finds what is wrong, says what to do, and never falls ill itself."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.base.clock import VirtualLoop
from appliance.commands import checks
from appliance.commands.checks import CHECKS, Finding, examine
from appliance.config.schema import GloveConfig
from tests.appliance.conftest import Ended

Glove = Callable[..., Ended]


@pytest.fixture(autouse=True)
def own_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))


def config(**sections: dict[str, object]) -> GloveConfig:
    return GloveConfig(**sections)  # type: ignore[arg-type]


def test_a_port_in_use_is_a_fault_that_names_the_key() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        finding = checks.port(config(page={"port": other.getsockname()[1]}))
    assert finding.state == "fault"
    assert "page.port" in (finding.remedy or "")


def test_missing_weights_are_a_fault(tmp_path: Path) -> None:
    finding = checks.weights(config(weights={"dir": str(tmp_path), "sources": ["cache"]}))
    assert (finding.state, finding.remedy) == ("fault", "glove weights pull")


def test_a_store_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    assert checks.store(config(store={"path": "/proc/glove/glove.db"})).state == "fault"
    damaged = tmp_path / "glove.db"
    damaged.write_text("no database at all, although it has the name of one")
    assert checks.store(config(store={"path": str(damaged)})).state == "fault"
    assert checks.store(config(store={"path": str(tmp_path / "deep" / "new.db")})).state == "ok"


@pytest.mark.parametrize(("free", "state"), [(10**9, "ok"), (10**8, "warning"), (10**6, "fault")])
def test_scarce_disk_space(free: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": free})())
    assert checks.disk(config()).state == state


def test_a_configured_model_without_its_key_is_a_fault() -> None:
    assert checks.model(config(model={"provider": "anthropic"})).state == "fault"
    assert checks.model(config()).state == "ok"


def test_a_clock_in_the_past_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "wall", lambda: VirtualLoop().wall_start.replace(year=1970))
    assert checks.clock(config()).state == "warning"


def test_no_sound_card_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audio.io.inventory.list_devices", lambda: [])
    finding = checks.sound(config())
    assert (finding.state, finding.message) == ("warning", "There is no microphone and no speaker.")
    assert checks.sound(config(device={"enabled": False})).state == "ok"


def test_a_check_that_fails_is_a_finding() -> None:
    def ill(_: GloveConfig) -> Finding:
        raise ZeroDivisionError

    assert [finding.state for finding in examine(config(), (ill,))] == ["fault"]


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("warning", 3), ("fault", 1)])
def test_the_exit_code_tells_the_worst(state: str, code: int, glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Finding("first", "ok", "All well."), Finding("second", state, "Hm.", "Do something.")]  # type: ignore[arg-type]
    monkeypatch.setattr(checks, "examine", lambda _: findings)
    ended = glove("doctor")
    assert ended.code == code
    assert "Do something." in ended.out
    report = json.loads(glove("doctor", "--json").out)
    assert (report["state"], len(report["findings"])) == (state, 2)


def test_every_check_runs_on_this_machine(glove: Glove) -> None:
    report = json.loads(glove("doctor", "--json").out)
    assert [finding["name"] for finding in report["findings"]] == [check.__name__ for check in CHECKS]
