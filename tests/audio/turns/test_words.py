import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.turns.words import goes_on, has_words, is_backchannel, remainder, same_words, words


def test_punctuation_and_case_do_not_make_different_words() -> None:
    assert words("Okay. Okay, thanks!") == words("okay okay thanks")
    assert words("okay thanks") != words("okay no thanks")


def test_japanese_is_compared_by_characters() -> None:
    assert words("今日は、晴れ。") == ("今", "日", "は", "晴", "れ")
    assert words("今日は晴れ") != words("今日は雨")


@pytest.mark.parametrize("text", ["Mhm.", "Uh-huh.", "Yeah.", "Okay, yeah.", "Hmm", "Right. Okay."])
def test_a_listeners_sign_of_life_is_a_backchannel(text: str) -> None:
    assert is_backchannel(text)


@pytest.mark.parametrize(
    "text", ["Stop.", "No.", "Wait, wait.", "Yeah, but what about Tuesday?", "Right to the left.", ""]
)
def test_words_that_mean_something_are_no_backchannel(text: str) -> None:
    assert not is_backchannel(text)


def test_german_nods_count_only_in_german() -> None:
    assert is_backchannel("Ja, genau.", "de")
    assert not is_backchannel("Ja, genau.", "en")


@pytest.mark.parametrize("text", ["", "...", "[coughs]", "(laughter)", "♪ music ♪", "*sighs*", "Hmm. Uh."])
def test_captions_and_hums_hold_no_words(text: str) -> None:
    assert not has_words(text)


def test_a_caption_beside_words_leaves_the_words() -> None:
    assert has_words("[coughs] Stop.")


@pytest.mark.parametrize(
    ("before", "after", "rest"),
    [
        ("Okay thanks", "Okay, thanks. Bye, now!", "Bye, now!"),
        ("Okay thanks", "okay THANKS", ""),
        ("今日は晴れ", "今日は、晴れ。明日は？", "明日は？"),
        ("今日は", "今日は晴れ", "晴れ"),
        ("iPhoneは", "ｉＰｈｏｎｅはどこ？", "どこ？"),
        ("", "Hello.", "Hello."),
    ],
)
def test_what_goes_on_is_told_from_what_was_said(before: str, after: str, rest: str) -> None:
    assert goes_on(before, after)
    assert remainder(before, after) == rest


@pytest.mark.parametrize(("one", "other"), [("Hello there", "Hello"), ("今日は雨", "今日は晴れ"), ("a b", "ab")])
def test_other_words_do_not_go_on(one: str, other: str) -> None:
    assert not goes_on(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("今日は、晴れ。", "今日は晴れ！"), ("Straße", "STRASSE"), ("café", "cafe\u0301"), ("It’s", "it's")],
)
def test_the_same_words_in_another_spelling_are_the_same(one: str, other: str) -> None:
    assert same_words(one, other)


@pytest.mark.parametrize(
    ("text", "language"),
    [("うん。", "ja"), ("なるほど", "ja"), ("Sí, claro.", "es"), ("Oui, d'accord.", "fr"), ("Ach so.", "de-AT")],
)
def test_each_language_has_its_signs_of_life(text: str, language: str) -> None:
    assert is_backchannel(text, language)


@pytest.mark.parametrize("text", ["はい", "いいえ", "ええ", "Ja", "Sí", "Oui"])
def test_a_yes_is_a_word(text: str) -> None:
    assert has_words(text)


@pytest.mark.parametrize("text", ["はははは", "（笑）", "【拍手】", "うーん", "haha"])
def test_laughter_and_captions_of_other_scripts_hold_no_words(text: str) -> None:
    assert not has_words(text)


def test_an_apostrophe_within_text_without_spaces_counts_like_its_neighbours() -> None:
    before, after = "Let'sゴー", "Let'sゴーしよう"
    assert goes_on(before, after) and remainder(before, after) == "しよう"


@pytest.mark.parametrize(
    ("before", "after", "rest"),
    [
        ("cafe\u0301s", "cafe\u0301s zu", "zu"),
        ("e\u0301か\u3099", "e\u0301か\u3099好き", "好き"),
        ("ﾊﾞｽ", "ﾊﾞｽで", "で"),
        ("日\u0301本", "日\u0301本語", "語"),
        ("㍿", "㍿です", "です"),
    ],
)
def test_marks_and_ligatures_count_as_what_they_stand_for(before: str, after: str, rest: str) -> None:
    assert goes_on(before, after)
    assert remainder(before, after) == rest


@settings(deadline=None, max_examples=300)
@given(st.text("aé'’がか\u3099\u309aﾊﾞ日㍿ﬁße\u0301\u0327한\u1112\u1161①ー々. ", max_size=12), st.integers(0, 12))
def test_what_was_said_and_the_remainder_are_the_whole(text: str, cut: int) -> None:
    """Spelled out: Latin letters beside unspaced text are words each, and one word once they stand alone."""

    def spelt(*parts: str) -> str:
        return "".join(word.replace("'", "") for part in parts for word in words(part))

    before = text[:cut]
    if goes_on(before, text):
        assert spelt(before, remainder(before, text)) == spelt(text)
