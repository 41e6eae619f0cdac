"""Units are converted, named properly, and never mixed up."""

from __future__ import annotations

import pytest

from agents.everyday.units import UNITS, convert, unit_tools
from agents.models.matcher import SentenceMatcher
from tests.agents.everyday.desk import Desk


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "How many kilometers are in 5 miles?", "5 miles are about 8.047 kilometers."),
        ("en", "How many ounces are in a pound?", "1 pound is 16 ounces."),
        ("en", "Convert 20 degrees Celsius to Fahrenheit.", "20 degrees Celsius are 68 degrees Fahrenheit."),
        ("en", "What's minus 40 degrees Celsius in Fahrenheit?", "-40 degrees Celsius are -40 degrees Fahrenheit."),
        ("en", "How many seconds are in an hour?", "1 hour is 3600 seconds."),
        ("en", "How many kilograms are in five miles?", "Miles can't be converted to kilograms."),
        ("de", "Wie viele Kilometer sind drei Meilen?", "3 Meilen sind etwa 4,828 Kilometer."),
        ("de", "Was sind 98,6 Grad Fahrenheit in Celsius?", "98,6 Grad Fahrenheit sind 37 Grad Celsius."),
        ("de", "Was sind zwei Meilen in Liter?", "Meilen lassen sich nicht in Liter umrechnen."),
    ],
)
async def test_conversions_are_said(
    desk: Desk, matcher: SentenceMatcher, language: str, text: str, answer: str
) -> None:
    assert await desk.say(matcher, text, language) == answer


async def test_a_model_may_use_any_name_and_gets_an_honest_no(desk: Desk) -> None:
    result = await desk.call("convert_units", amount=1, from_unit="Stunde", to_unit="minutes")
    assert result.data["amount"] == pytest.approx(60)
    result = await desk.call("convert_units", amount=1, from_unit="parsnip", to_unit="meter")
    assert (result.status, result.speech) == ("error", "I don't know the unit parsnip.")
    result = await desk.call("convert_units", amount=1e300, from_unit="mile", to_unit="meter")
    assert result.status == "error"


def test_every_unit_is_known_to_the_library_and_returns_to_itself() -> None:
    for unit in UNITS:
        assert convert(12.5, unit, unit) == pytest.approx(12.5)
    assert len(unit_tools()) == 1
