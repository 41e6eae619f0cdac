import pytest

from audio.turns.hold import HoldTimes, Utterance
from audio.turns.rules import CommandDetector, RuleDetector

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
        ("is it on", "question_form"),
        ("It was him.", "statement"),
        ("Wake me at 6:30.", "statement"),
        ("Let us go with plan B.", "statement"),
        ("A B", "dictation"),
        ("four five", "dictation"),
        ("The code is nine, one.", "dictation"),
        ("Where are you from?", "question"),
        ("I would like to have that with.", "unfinished"),
        ("What is the?", "unfinished"),
        ("Could you tell me when?", "unfinished"),
        ("what time is it", "question_form"),
        ("It is late, isn't it.", "question"),
        ("As you know.", "unfinished"),
        ("If you want to.", "unfinished"),
        ("As you know, it is late.", "statement"),
        ("As soon as possible.", "statement"),
        ("When you are done call me.", "statement"),  # without its comma
        ("When is she here?", "question"),
        ("2 apples, 3 pears.", "unfinished"),
        ("2 apples, and 3 pears.", "statement"),
        ("10,000 steps.", "statement"),
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
        ("今日は晴れですか", "ja", "question"),
        ("今何時ですか。", "ja", "question"),
        ("行きますか", "ja", "question"),
        ("明日の天気を", "ja", "unfinished"),
        ("電気をつけてください。", "ja", "statement"),
        ("〇九〇", "ja", "dictation"),
        ("番号は ４ １ ５", "ja", "dictation"),
        ("電気をつけてください", "ja", "statement"),
        ("それは事実である", "ja", "statement"),
        ("明日の天気", "ja", "unpunctuated"),
        ("Wenn ich morgen komme.", "de", "unfinished"),
        ("Wenn ich komme, bring Brot mit.", "de", "statement"),
        ("Zwei Äpfel und 3 Birnen.", "de", "statement"),
        ("2 Äpfel, 3 Birnen.", "de", "unfinished"),
        ("Quand je rentre.", "fr", "unfinished"),
        ("Wie spät ist es?", "de", "question"),
        ("Stell einen Timer auf die", "de", "unfinished"),
        ("Mach das Licht an.", "de", "statement"),
        ("Schalte das Licht ein.", "de", "statement"),
        ("Stell den Timer auf fünf Minuten.", "de", "statement"),
        ("wie spät ist es", "de", "question_form"),
        ("Das ist richtig, oder.", "de", "question"),
        ("Meine Nummer ist null vier", "de", "dictation"),
        ("Ist sie da.", "de", "statement"),
        ("¿Qué hora es?", "es", "question"),
        ("qué hora es ahora", "es", "question_form"),
        ("Enciende la luz de la", "es", "unfinished"),
        ("cuatro cinco", "es", "dictation"),
        ("Quelle heure est-il ?", "fr", "question"),
        ("comment ça va", "fr", "question_form"),
        ("huit neuf", "fr", "dictation"),
        ("Je voudrais un", "fr", "unfinished"),
    ],
)
def test_other_languages(text: str, language: str, reason: str) -> None:
    assert RuleDetector().decide(text, language).reason == reason


def test_no_hold_is_shorter_than_the_time_in_which_resumed_speech_is_noticed() -> None:
    assert min(TIMES.command, TIMES.question, TIMES.statement, TIMES.unfinished, TIMES.dictation) >= 250


async def test_a_complete_command_is_answered_soonest_but_dictation_is_awaited() -> None:
    detector = CommandDetector(RuleDetector(), lambda text, _: text in {"Set a timer for 5 minutes.", "7."})
    assert (await detector.judge(Utterance("Set a timer for 5 minutes."))).reason == "command"
    assert (await detector.judge(Utterance("Set a table for us."))).reason == "statement"
    assert (await detector.judge(Utterance("7."))).reason == "dictation"
