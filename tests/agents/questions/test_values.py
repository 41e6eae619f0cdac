"""Numbers, dates and addresses, as they are said."""

from __future__ import annotations

from datetime import date

import pytest

from agents.questions.values import spoken_date, spoken_email, spoken_number

TODAY = date(2026, 12, 1)


@pytest.mark.parametrize(
    ("said", "language", "value"),
    [
        ("Forty two.", "en", 42),
        ("It's 3.5", "en", 3.5),
        ("minus four", "en", -4),
        ("two or three", "en", None),
        ("lots", "en", None),
        ("Fünfundzwanzig", "de", 25),
        ("3,5", "de", 3.5),
        ("trois cents", "fr", 300),
    ],
)
def test_numbers(said: str, language: str, value: float | None) -> None:
    assert spoken_number(said, language) == value


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("anna at example dot com", "anna@example.com"),
        ("Anna.Smith@example.com.", "anna.smith@example.com"),
        ("john underscore doe at mail dot example dot org", "john_doe@mail.example.org"),
        ("anna ät example punkt de", "anna@example.de"),
        ("max minus muster at web punkt de", "max-muster@web.de"),
        ("hello there", None),
        ("anna at home", None),
        ("", None),
    ],
)
def test_addresses(said: str, address: str | None) -> None:
    assert spoken_email(said) == address


@pytest.mark.parametrize(
    ("said", "language", "day"),
    [
        ("Tomorrow.", "en", date(2026, 12, 2)),
        ("May 3rd 2027", "en", date(2027, 5, 3)),
        ("the third of May", "en", date(2027, 5, 3)),
        ("May third twenty twenty eight", "en", date(2028, 5, 3)),
        ("next Friday", "en", date(2026, 12, 4)),
        ("Tuesday", "en", date(2026, 12, 8)),
        ("2027-01-02", "en", date(2027, 1, 2)),
        ("2027-02-30", "en", None),
        ("the 31st of February", "en", None),
        ("blue", "en", None),
        ("am dritten Mai", "de", date(2027, 5, 3)),
        ("übermorgen", "de", date(2026, 12, 3)),
        ("le premier mai", "fr", date(2027, 5, 1)),
        ("el cinco de mayo", "es", date(2027, 5, 5)),
        ("5月3日", "ja", date(2027, 5, 3)),
    ],
)
def test_days(said: str, language: str, day: date | None) -> None:
    assert spoken_date(said, language, TODAY) == day
