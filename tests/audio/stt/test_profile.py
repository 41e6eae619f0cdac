from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.base.weights import WeightsStore
from audio.stt.profile import BASE, TINY, Machine, choose_profile, this_machine
from audio.stt.whisper import WhisperStt

BOARD = Machine("Some Board", cores=4, memory_mb=4_000)


class Stopwatch:
    """Says how long tiny.en took, and counts how often it was asked."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked = 0

    def __call__(self, store: WeightsStore) -> float:
        self.asked += 1
        return self.seconds


def test_a_fast_machine_gets_base_and_a_slow_one_tiny(tmp_path: Path) -> None:
    fast = choose_profile(WeightsStore(tmp_path / "a", ["cache"]), machine=BOARD, measure=Stopwatch(0.08))
    slow = choose_profile(WeightsStore(tmp_path / "b", ["cache"]), machine=BOARD, measure=Stopwatch(0.5))
    assert (fast.model_id, slow.model_id) == (BASE, TINY)
    assert slow.base_ms is not None and f"{slow.base_ms:.0f} ms" in slow.reason


@pytest.mark.parametrize("machine", [replace(BOARD, cores=1), replace(BOARD, memory_mb=900)], ids=["cores", "memory"])
def test_too_small_a_machine_is_not_even_measured(tmp_path: Path, machine: Machine) -> None:
    watch = Stopwatch(0.01)
    assert choose_profile(WeightsStore(tmp_path, ["cache"]), machine=machine, measure=watch).model_id == TINY
    assert watch.asked == 0


def test_it_is_measured_once_until_the_machine_changes(tmp_path: Path) -> None:
    store, watch = WeightsStore(tmp_path, ["cache"]), Stopwatch(0.08)
    first = choose_profile(store, machine=BOARD, measure=watch)
    watch.seconds = 9.0
    assert choose_profile(store, machine=BOARD, measure=watch) == first
    assert watch.asked == 1
    assert choose_profile(store, machine=replace(BOARD, cpu="Another"), measure=watch).model_id == TINY
    assert watch.asked == 2


def test_a_remembered_measurement_is_judged_by_the_limits_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, watch = WeightsStore(tmp_path, ["cache"]), Stopwatch(0.2)
    monkeypatch.setattr("audio.stt.profile.LONGEST_BASE_MS", 400.0)
    assert choose_profile(store, machine=BOARD, measure=watch).model_id == TINY
    monkeypatch.setattr("audio.stt.profile.LONGEST_BASE_MS", 500.0)
    assert choose_profile(store, machine=BOARD, measure=watch).model_id == BASE
    assert watch.asked == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', '{"version": 99}'])
def test_a_broken_memory_is_measured_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "speech-profile.json").write_text(content)
    watch = Stopwatch(0.08)
    assert choose_profile(WeightsStore(tmp_path, ["cache"]), machine=BOARD, measure=watch).model_id == BASE
    assert watch.asked == 1


def test_a_place_that_cannot_be_written_is_no_reason_not_to_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = WeightsStore(tmp_path / "file", ["cache"])
    assert choose_profile(store, machine=BOARD, measure=Stopwatch(0.08)).model_id == BASE


def test_this_machine_has_a_name_cores_and_memory() -> None:
    machine = this_machine()
    assert machine.cpu and machine.cores >= 1 and machine.memory_mb > 100


def test_the_measurement_is_a_plausible_time(tiny: WhisperStt) -> None:
    assert 0.005 < tiny.time_once() < 60.0
