"""The file of metrics: bounded, whole lines, and no trouble for the conversation when it cannot be written."""

from __future__ import annotations

import json
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agents.base.errors import ConfigError
from appliance.measured.metrics_log import MetricsLog
from audio.events import Metric


def lengths(path: Path) -> list[float]:
    """What was measured, line by line; each must be whole."""
    return [json.loads(line)["ms"] for line in path.read_text(encoding="utf-8").splitlines()]


def tool(ms: float) -> Metric:
    """A measurement of this length."""
    return Metric(1.0, "tool_ms", ms)


@contextmanager
def room_for(size: int) -> Generator[None]:
    """No file of this process may grow beyond ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_says_when_where_what_and_how_long(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 10_000, 1)
    log.write_of("device", Metric(1.0, "front_ttft_ms", 312.5))
    log.write_of("page", Metric(2.0, "speech_failure", data={"code": "ERR_X"}))
    log.close()
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first.pop("ts").endswith("+00:00") and second.pop("ts")
    assert first == {"roomId": "device", "name": "front_ttft_ms", "ms": 312.5}
    assert second == {"roomId": "page", "name": "speech_failure", "data": {"code": "ERR_X"}}
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_there_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for ms in (1.0, 2.0):
        log = MetricsLog(path, 10_000, 1)
        log.write_of("device", tool(ms))
        log.close()
    assert lengths(path) == [1, 2]


def test_a_line_that_a_crash_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"ts": "2026', encoding="utf-8")
    MetricsLog(path, 10_000, 1).write_of("device", tool(1))
    broken, whole = path.read_text(encoding="utf-8").splitlines()
    assert broken == '{"ts": "2026' and json.loads(whole)["ms"] == 1


@pytest.mark.parametrize("kept", [0, 2])
def test_files_stay_within_their_size_and_number_and_the_newest_lines_are_kept(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 1000, kept)
    for number in range(200):
        log.write_of("device", tool(number))
    log.close()
    files = [tmp_path / f"metrics.jsonl.{number}" for number in range(kept, 0, -1)] + [path]
    assert sorted(tmp_path.glob("metrics*")) == sorted(files)
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    seen = [ms for file in files for ms in lengths(file)]
    assert seen == list(range(200 - len(seen), 200))


def test_a_full_disk_is_told_once_and_raises_nothing() -> None:
    log = MetricsLog(Path("/dev/full"), 10_000, 1)
    with capture_logs() as told:
        for _ in range(3):
            log.write_of("device", tool(1))
    log.close()
    assert log.lost == 3
    assert [entry["event"] for entry in told] == ["metrics cannot be written"]


def test_what_does_not_fit_is_lost_whole_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 10_000, 1)
    log.write_of("device", tool(1))
    with capture_logs(), room_for(path.stat().st_size + 20):  # the log's own output could not be written either
        log.write_of("device", tool(2))
    log.write_of("device", tool(3))
    log.close()
    assert lengths(path) == [1, 3] and log.lost == 1


def test_a_folder_that_disappears_loses_lines_until_it_is_back(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    log = MetricsLog(folder / "metrics.jsonl", 150, 1)
    log.write_of("device", tool(1))
    folder.rename(tmp_path / "gone")
    log.write_of("device", tool(2))  # the file is full, and a new one cannot be made
    (tmp_path / "gone").rename(folder)
    log.write_of("device", tool(3))
    log.close()
    assert log.lost == 1
    assert 3 in lengths(folder / "metrics.jsonl")


@pytest.mark.parametrize("name", ["missing/metrics.jsonl", "."])
def test_a_file_that_cannot_be_written_is_named_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        MetricsLog(tmp_path / name, 10_000, 1)
    assert refused.value.code == "ERR_METRICS_FILE" and "metrics.file" in str(refused.value)
