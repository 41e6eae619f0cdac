"""Wake phrases in transcripts, and stop words."""

from __future__ import annotations

import pytest

from audio.wake.phrases import is_stop, strip_wake_phrase

JARVIS = ("Hey Jarvis",)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Hey Jarvis, what time is it?", "What time is it?"),
        ("Hey, Jarvis. What time is it?", "What time is it?"),
        ("hey jarvis what time is it", "What time is it"),
        ("Hey, Jervis, what time is it?", "What time is it?"),
        ("Hey Charles, what time is it?", "What time is it?"),
        ("Jarvis, stop.", "Stop."),
        ("Hey Jarvis.", ""),
        ("on the news. Hey Jarvis, what time is it?", "What time is it?"),
        ("What time is it?", "What time is it?"),
        ("Hey Jarvis is my friend, he says.", "Is my friend, he says."),
        ("", ""),
    ],
)
def test_what_the_detector_heard_is_taken_off(text: str, rest: str) -> None:
    assert strip_wake_phrase(text, JARVIS, heard=True) == rest


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Hey Jarvis, what time is it?", "What time is it?"),
        ("Hey Charles, what time is it?", "Hey Charles, what time is it?"),
        ("Tell Hey Jarvis to stop.", "Tell Hey Jarvis to stop."),
        ("Where is Jarvis?", "Where is Jarvis?"),
        ("Have you heard of Travis?", "Have you heard of Travis?"),
    ],
)
def test_nobody_heard_it_so_only_the_very_phrase_is_taken_off(text: str, rest: str) -> None:
    assert strip_wake_phrase(text, JARVIS, heard=False) == rest


@pytest.mark.parametrize("phrase", ["Okay Nabu", "Alexa", "Hey Mycroft"])
def test_every_phrase_is_taken_off(phrase: str) -> None:
    assert strip_wake_phrase(f"{phrase}, louder.", (phrase,), heard=True) == "Louder."


@pytest.mark.parametrize(
    "text",
    ["Stop.", "Stop, stop!", "okay stop", "Stop the alarm, please.", "Hey Jarvis, stop.", "Hey Jarvis.", "Ruhe!",
     "Basta", "Arrête !", "止めて", "ストップ。", "That's enough.", "Shut up!", "Cancel"],
)  # fmt: skip
def test_stop_words(text: str) -> None:
    assert is_stop(text, JARVIS)


@pytest.mark.parametrize(
    "text",
    ["", "Don't stop me now.", "The bus stop is over there.", "When does it stop raining tomorrow?", "Please.", "Okay.",
     "Quiet evening, isn't it?", "We had enough wine."],
)  # fmt: skip
def test_words_that_only_contain_a_stop_word(text: str) -> None:
    assert not is_stop(text, JARVIS)
