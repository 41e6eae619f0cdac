"""One of several, by label, number, place, or nearly its label."""

from __future__ import annotations

import pytest

from agents.questions.choices import Option, chosen

COLOURS = [Option("Red", "red"), Option("Dark green", "dark"), Option("Green", "green"), Option("Navy blue", "navy")]


@pytest.mark.parametrize(
    ("language", "said", "value"),
    [
        ("en", "Red.", "red"),
        ("en", "The red one, please.", "red"),
        ("en", "the second one", "dark"),
        ("en", "The second one, please.", "dark"),
        ("en", "the third, thanks", "green"),
        ("en", "number three", "green"),
        ("en", "Option 2.", "dark"),
        ("en", "2nd", "dark"),
        ("en", "the last one", "navy"),
        ("en", "I'd like the third one.", "green"),
        ("en", "one", "red"),
        ("en", "number one", "red"),
        ("en", "the first one", "red"),
        ("en", "Dark green!", "dark"),
        ("en", "green", "green"),
        ("en", "Navy", "navy"),
        ("en", "navy blew", "navy"),
        ("de", "Das zweite.", "dark"),
        ("de", "Nummer drei", "green"),
        ("de", "Ich nehme die erste.", "red"),
        ("de", "Das letzte, bitte.", "navy"),
        ("de", "Das zweite, danke.", "dark"),
        ("fr", "Le deuxième.", "dark"),
        ("fr", "la première", "red"),
        ("es", "La segunda.", "dark"),
        ("es", "el último", "navy"),
        ("ja", "二番目", "dark"),
        ("ja", "2番です", "dark"),
        ("ja", "三つ目", "green"),
    ],
)
def test_what_was_meant(language: str, said: str, value: str) -> None:
    option = chosen(said, COLOURS, language)
    assert option is not None and option.value == value


@pytest.mark.parametrize(
    "said", ["", "purple", "red or navy blue", "the fifth one", "number nine", "not the red one", "What time is it?"]
)
def test_what_cannot_be_told_is_not_guessed(said: str) -> None:
    assert chosen(said, COLOURS, "en") is None


def test_an_option_may_be_a_no_or_hold_a_number() -> None:
    options = [Option("No", "no"), Option("2 eggs", "two"), Option("3 eggs", "three")]
    for said, value in (("No.", "no"), ("Two eggs.", "two"), ("three eggs please", "three")):
        option = chosen(said, options, "en")
        assert option is not None and option.value == value, said
