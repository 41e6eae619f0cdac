"""What is left of an utterance when politeness, punctuation and spelling are gone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.models.numberwords import parse_number
from agents.models.utterance import readings, split_sentences


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Um, could you please set a five-minute timer for me, thanks.", "set a 5 minute timer"),
        ("en", "What's 17 + 25?", "what is 17 plus 25"),
        ("en", "25-17", "25 minus 17"),
        ("en", "long-lived", "long lived"),
        ("en", "It costs 1,250.50 dollars", "It costs 1250.50 dollars"),
        ("en", "wake me at 7:30 a.m.", "wake me at 7 30 am"),
        ("en", "20°C", "20 degrees C"),
        ("en", "minus five degrees", "minus 5 degrees"),
        ("en", "a hundred and five apples", "105 apples"),
        ("en", "one hundred twenty three thousand four hundred fifty six", "123456"),
        ("de", "Könntest du bitte, äh, einen Timer stellen?", "einen Timer stellen"),
        ("de", "Weck mich um sieben", "Weck mich um 7"),
        ("de", "1.250,5 Meter", "1250.5 Meter"),
        ("de", "zweitausendfünfhundertdrei", "2503"),
        ("de", "zweieinhalb Stunden", "2.5 Stunden"),
        ("de", "drei Komma eins vier", "3.14"),
        ("fr", "trois cent cinquante et un", "351"),
        ("es", "doscientos treinta", "230"),
    ],
)
def test_first_reading_is_the_plain_command(language: str, text: str, expected: str) -> None:
    assert readings(text, language)[0].text == expected


def test_a_courtesy_alone_is_kept() -> None:
    assert readings("Thank you.", "en")[0].text == "Thank you"
    assert readings("Hello", "en")[0].text == "Hello"


def test_words_can_be_traced_back_to_what_was_said() -> None:
    utterance = readings("Remember that Anna’s got twenty-two cats.", "en")[0]
    start = utterance.text.index("Anna")
    assert utterance.text.endswith("22 cats")
    assert utterance.source(start, len(utterance.text)) == "Anna's got twenty-two cats"


def test_sentences_are_split_but_not_in_abbreviations() -> None:
    assert split_sentences("Stop. Set a timer for five minutes!") == ["Stop.", "Set a timer for five minutes!"]
    assert split_sentences("Wake me at 7 p.m. tomorrow.") == ["Wake me at 7 p.m. tomorrow."]


@settings(deadline=None)
@given(st.integers(0, 999_999), st.sampled_from(["en", "de", "fr", "es", "pt"]))
def test_every_number_spelled_out_is_read_back(value: int, language: str) -> None:
    from unicode_rbnf import RbnfEngine

    spelled = RbnfEngine.for_language(language).format_number(value).text_by_ruleset["spellout-numbering"]
    words = spelled.replace("\u00ad", "").replace("-", " ").lower().split()
    if words[0] in {"un", "uno", "um"} and len(words) == 1:
        return  # articles; templates decide
    assert parse_number(words, 0, language) == (value, len(words))


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_has_readings_that_do_not_fail(text: str) -> None:
    for language in ("en", "de", "xx"):
        for utterance in readings(text, language):
            assert utterance.source(0, len(utterance.text))
