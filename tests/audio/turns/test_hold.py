import pytest

from audio.turns.hold import CommandDetector, HoldTimes, RuleDetector

TIMES = HoldTimes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("What time is it?", "question"),
        ("Is it on?", "question"),
        ("“Is it on?”", "question"),
        ("Turn it off.", "statement"),
        ("Yes or no.", "statement"),
        ("What is 17 plus 25?", "question"),
        ("Tell me about the", "unfinished"),
        ("Tell me about the.", "unfinished"),
        ("Set a timer for 5.", "unfinished"),
        ("I would like,", "unfinished"),
        ("Well…", "unfinished"),
        ("turn on the light", "unpunctuated"),
        ("0-0-7.", "dictation"),
        ("My number is 4 1 5.", "dictation"),
        ("A, B", "dictation"),
        ("7.", "dictation"),
        ("I.", "statement"),
    ],
)
def test_english(text: str, reason: str) -> None:
    assert RuleDetector().decide(text, "en").reason == reason


@pytest.mark.parametrize(
    ("text", "language", "reason"),
    [
        ("今日は晴れですか？", "ja", "question"),
        ("そうですね。", "ja", "statement"),
        ("それで", "ja", "unfinished"),
        ("Wie spät ist es?", "de", "question"),
        ("Stell einen Timer auf", "de", "unfinished"),
        ("¿Qué hora es?", "es", "question"),
        ("Je voudrais un", "fr", "unfinished"),
    ],
)
def test_other_languages(text: str, language: str, reason: str) -> None:
    assert RuleDetector().decide(text, language).reason == reason


def test_no_hold_is_shorter_than_the_time_in_which_resumed_speech_is_noticed() -> None:
    assert min(TIMES.command, TIMES.question, TIMES.statement, TIMES.unfinished, TIMES.dictation) >= 250


def test_a_complete_command_is_answered_soonest_but_dictation_is_awaited() -> None:
    detector = CommandDetector(RuleDetector(), lambda text, _: text in {"Set a timer for 5 minutes.", "7."})
    assert detector.decide("Set a timer for 5 minutes.", "en").reason == "command"
    assert detector.decide("Set a table for us.", "en").reason == "statement"
    assert detector.decide("7.", "en").reason == "dictation"
