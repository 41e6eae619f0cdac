from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from audio.pcm import silence


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "speech_to_text.py"
    spec = importlib.util.spec_from_file_location("benchmark_speech_to_text", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_numbers_and_contractions_count_as_the_same_words(bench: ModuleType) -> None:
    clips = [bench.Clip(silence(1), "ten of clubs"), bench.Clip(silence(1), "I'm here")]
    assert bench.word_error_rate(clips, ["10 of clubs.", "I am here"]) == 0
    assert bench.word_error_rate(clips, ["10 of clubs.", "I am gone"]) == pytest.approx(1 / 6)


def test_limits_are_judged_only_where_there_is_a_peer(bench: ModuleType) -> None:
    clips = [bench.Clip(silence(16_000), "a")] * 3
    good = bench._row("good", clips, (0.02, [0.1, 0.1, 0.4]), [0.5, 0.5, 0.5])
    assert good.ratio == pytest.approx(5) and good.total_ratio == pytest.approx(2.5) and good.is_met
    assert not bench._row("wrong", clips, (0.05, [0.1] * 3), [0.5] * 3).is_met
    assert not bench._row("slow", clips, (0.02, [0.2] * 3), [0.5] * 3).is_met
    assert bench._row("alone", clips, (0.5, [9.0] * 3)).is_met


@pytest.mark.parametrize("markdown", [False, True])
def test_the_table_shows_every_figure(bench: ModuleType, capsys: pytest.CaptureFixture[str], markdown: bool) -> None:
    clips = [bench.Clip(silence(16_000), "a")]
    bench.print_rows(
        [bench._row("ours", clips, (0.025, [0.1]), [0.3]), bench._row("peer", clips, (0.1, [0.3]))], markdown
    )
    printed = capsys.readouterr().out
    assert all(figure in printed for figure in ("limit 4%", "2.5%", "3.0", "MISSED", "peer", "10.0%"))
    assert printed.startswith("| ") == markdown


def test_without_recordings_it_says_so(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["speech_to_text.py", "--audio", str(tmp_path)])
    assert bench.main() == 2
    assert "--audio" in capsys.readouterr().err
