"""The page about metrics names what is measured, and nothing else."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from appliance.measured.metrics import Metrics
from audio.metric_names import MetricName
from audio.turn_record import STAGES, TurnRecord
from audio.turns.timing import UtteranceTimes
from tests.docs.pages import Page

PAGE = Page("metrics.md")


def codes(cell: str) -> list[str]:
    """What stands in a cell as code."""
    return re.findall(r"`(\w+)`", cell)


def full_record() -> TurnRecord:
    """A turn to which everything happened."""
    times = UtteranceTimes(1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
    return TurnRecord(
        number=1,
        source="speech",
        outcome="complete",
        speech_end_s=1.25,
        committed_s=1.6,
        ended_s=3.0,
        heard=times,
        prepared_s=1.55,
        asked_s=1.6,
        first_token_s=1.7,
        first_sentence_s=1.8,
        first_sound_s=1.9,
        audible_s=2.0,
    )


def test_every_name_is_listed_with_its_unit_and_no_other() -> None:
    rows = {codes(row[0])[0]: row[1] for row in PAGE.table("name")}
    assert set(rows) == set(get_args(MetricName))
    assert set(rows.values()) == {"ms", "count"}
    assert all(unit == "ms" for name, unit in rows.items() if name.endswith("_ms"))


def test_every_stage_is_listed_in_order() -> None:
    assert [codes(row[0])[0] for row in PAGE.table("stage")] == list(STAGES)


def test_every_field_of_a_record_is_listed_with_its_marks() -> None:
    data = full_record().to_data()
    rows = {name: row[1] for row in PAGE.table("field") for name in codes(row[0])}
    assert set(rows) == set(data)
    assert codes(rows["marks"]) == list(data["marks"])


@pytest.mark.parametrize("kind", ["counter", "histogram"])
def test_every_series_is_listed_with_its_type_and_labels(kind: str) -> None:
    text = Metrics().exposition()[0].decode()
    typed = {name for name, each in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE) if each == kind}
    told = {codes(row[0])[0] for row in PAGE.table("series") if row[1] == kind}
    assert told == typed
