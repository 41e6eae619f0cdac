"""Drawing measured turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base.errors import InputError
from agents.models.scripted import ScriptedModel
from appliance.commands.plot import plot
from appliance.commands.stage_plot import lengths
from appliance.commands.turn_lines import holds_metrics, read_turns
from appliance.measured.event_log import EventLog
from appliance.measured.metrics_log import MetricsLog
from audio.events import Metric
from audio.turn_record import WAITING
from tests.support.session import Session


def turn(number: int, **data: Any) -> dict[str, Any]:
    """A line of a file of metrics about a turn whose stages take 100 ms and more."""
    stages = [["speech", -900, 0], ["silence", 0, 450], ["recognition", 450, 550], ["agent", 550, 850 + number]]
    held = {"turn": number, "outcome": "complete", "stages": stages, "pauses": [], "tools": [], **data}
    return {"ts": "2026-01-01T00:00:00.000+00:00", "roomId": "device", "name": "turn", "ms": 850 + number, "data": held}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), encoding="utf-8")
    return path


def pixels(path: Path) -> Any:
    import matplotlib.image

    return matplotlib.image.imread(path)


async def spoken(folder: Path) -> tuple[Path, Path]:
    """The events and the metrics of a conversation of two turns."""
    events, metrics = folder / "events.jsonl", folder / "metrics.jsonl"
    log, kept = MetricsLog(metrics, 1_000_000, 1), events.open("w", encoding="utf-8")
    async with Session(ScriptedModel(["It is noon.", "It is one."], first_token_s=0.3)) as session:
        session.voice.events.on(object, EventLog(kept).write)  # type: ignore[arg-type]
        session.voice.events.on(Metric, lambda metric: log.write_of("device", metric))
        for _ in range(2):
            await session.say("What time is it?")
            await session.settle()
    log.close()
    kept.close()
    return events, metrics


async def test_metrics_and_events_of_a_conversation_give_the_same_picture_of_its_turns(tmp_path: Path) -> None:
    events, metrics = await spoken(tmp_path)
    assert holds_metrics(metrics) and not holds_metrics(events)
    assert [line.data for line in read_turns(events).lines] == [line.data for line in read_turns(metrics).lines]
    plot(metrics, tmp_path / "metrics.png")
    plot(events, tmp_path / "stages.png", stages=True)
    plot(events, tmp_path / "conversation.png")
    first, second, other = (pixels(tmp_path / f"{name}.png") for name in ("metrics", "stages", "conversation"))
    assert first.shape[1] == second.shape[1] != other.shape[1], "without --stages events are drawn as a conversation"


async def test_the_lengths_are_those_that_were_measured(tmp_path: Path) -> None:
    _, metrics = await spoken(tmp_path)
    found = lengths(read_turns(metrics).lines)
    assert found["agent"] == pytest.approx([300, 300], abs=3)
    assert found["voice"] == pytest.approx([120, 120], abs=3)
    waited = [sum(values) for values in zip(*(found[name] for name in WAITING), strict=True)]
    assert waited == pytest.approx(found["voice to voice"], abs=1)


def test_a_longer_stage_is_drawn_longer(tmp_path: Path) -> None:
    short = write(tmp_path / "short.jsonl", turn(1))
    long = write(tmp_path / "long.jsonl", turn(2, stages=[["silence", 0, 450], ["agent", 450, 851]]), turn(1))
    plot(short, tmp_path / "short.png")
    plot(long, tmp_path / "long.png")
    orange = np.array([0xD0, 0x8C, 0x4A]) / 255
    areas = [
        int((np.abs(pixels(tmp_path / f"{name}.png")[:, :, :3] - orange).max(axis=2) < 0.02).sum())
        for name in ("short", "long")
    ]
    assert areas[1] > areas[0] > 100


def test_interruptions_tools_and_turns_that_nobody_heard_are_drawn_too(tmp_path: Path) -> None:
    rich = turn(
        1,
        outcome="cut",
        pauses=[{"at_ms": 900, "decided_ms": 1300, "cut": True}, {"at_ms": 950, "decided_ms": None, "cut": False}],
        tools=[{"name": "clock", "at_ms": 600, "end_ms": 800}, {"name": "lamp", "at_ms": 700, "end_ms": None}],
    )
    unheard = {**turn(2, outcome="unheard"), "ms": None}
    path = write(tmp_path / "metrics.jsonl", rich, unheard)
    found = lengths(read_turns(path).lines)
    assert (found["barge-in decision"], found["tool"], found["voice to voice"]) == ([400], [200], [851])
    plot(path, tmp_path / "turns.png")
    assert pixels(tmp_path / "turns.png").shape[0] > 300


def test_lines_that_a_crash_or_somebody_spoiled_are_passed_over(tmp_path: Path) -> None:
    other = {"ts": "x", "roomId": "device", "name": "vad_end", "ms": 450}
    bad = [
        turn(1, stages=[["silence", 0, "long"]]),
        turn(2, stages=[["silence", 0, float("nan")]]),
        "[1]",
        '{"ts": "20',
    ]
    turns = read_turns(write(tmp_path / "metrics.jsonl", other, turn(7), *bad))
    assert [line.data.turn for line in turns.lines] == [7]
    assert turns.broken == len(bad)


@pytest.mark.parametrize("content", ["", "no json", '{"ts": "x", "name": "vad_end"}', '{"name": "turn", "data": 1}'])
def test_a_file_without_turns_is_refused(content: str, tmp_path: Path) -> None:
    path = write(tmp_path / "metrics.jsonl", content)
    with pytest.raises(InputError) as refused:
        plot(path, tmp_path / "x.png", stages=True)
    assert refused.value.code == "ERR_EVENTS" and "metrics.file" in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        plot(tmp_path / "missing.jsonl", tmp_path / "x.png")
    assert refused.value.code == "ERR_EVENTS"


def test_a_picture_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        plot(write(tmp_path / "metrics.jsonl", turn(1)), tmp_path / "missing" / "x.png")
    assert refused.value.code == "ERR_OUTPUT"


def test_options_of_a_conversation_do_not_fit_turns(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        plot(write(tmp_path / "metrics.jsonl", turn(1)), tmp_path / "x.png", start=3.0)
    assert refused.value.code == "ERR_USAGE"
