"""Time and date, here and elsewhere, on a clock that stands where the test puts it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents.base.clock import run_virtual
from agents.everyday.places import find_zone, system_zone
from agents.models.matcher import SentenceMatcher
from tests.agents.everyday.desk import NOON, Desk


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "What time is it?", "It is 12:00 PM."),
        ("de", "Wie spät ist es?", "Es ist 12:00 Uhr."),
        ("en", "What time is it in New York?", "In New York it is 6:00 AM."),
        ("de", "Wie spät ist es in Tokio?", "In Tokio ist es 20:00 Uhr."),
        ("en", "What time is it in Auckland?", "In Auckland it is 12:00 AM tomorrow."),
        ("en", "What time is it in Winterfell?", "I don't know the time zone of Winterfell."),
        ("de", "Wie spät ist es in Entenhausen?", "Die Zeitzone von Entenhausen kenne ich nicht."),
        ("en", "What day is it?", "Today is Monday, March 2, 2026."),
        ("de", "Welcher Tag ist heute?", "Heute ist Montag, 2. März 2026."),
        ("en", "What day is tomorrow?", "Tomorrow is Tuesday, March 3, 2026."),
        ("en", "What day was yesterday?", "Yesterday was Sunday, March 1, 2026."),
        ("de", "Welcher Tag ist in drei Tagen?", "In 3 Tagen ist Donnerstag, 5. März 2026."),
    ],
)
def test_the_clock_is_read_aloud(matcher: SentenceMatcher, language: str, text: str, answer: str) -> None:
    async def ask() -> str:
        return await Desk().say(matcher, text, language)

    assert run_virtual(ask(), wall_start=NOON) == answer


def test_the_day_turns_at_local_midnight(matcher: SentenceMatcher) -> None:
    async def ask() -> str:
        return await Desk().say(matcher, "What day is it?")

    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)  # half past midnight in Berlin
    assert run_virtual(ask(), wall_start=late) == "Today is Monday, March 2, 2026."


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("tokio", "Asia/Tokyo"),
        ("São Paulo", "America/Sao_Paulo"),
        ("New York City", "America/New_York"),
        ("Mexico City", "America/Mexico_City"),
        ("the UK", "Europe/London"),
        ("Japan", "Asia/Tokyo"),
        ("Deutschland", "Europe/Berlin"),
        ("München", "Europe/Berlin"),
    ],
)
def test_places_are_found_by_their_names(place: str, zone: str) -> None:
    found = find_zone(place)
    assert found is not None
    assert found.key == zone


def test_the_zone_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert str(system_zone()) == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "no/such zone")
    assert system_zone() is UTC
