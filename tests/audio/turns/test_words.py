import pytest

from audio.turns.words import has_words, is_backchannel, words


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
