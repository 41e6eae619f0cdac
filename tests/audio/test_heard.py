import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.heard import HeardTracker
from audio.speaking_rate import SpeakingRate
from audio.tts.base import WordTiming


def timed(*ends: int, words: str) -> list[WordTiming]:
    return [WordTiming(word, end - 80, end) for word, end in zip(words.split(), ends, strict=True)]


def test_words_count_when_they_have_ended() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "Hello there. ")
    tracker.add_piece(1, "How are you?")
    tracker.add_audio(0, 300, timed(100, 200, words="Hello there."))
    tracker.finish_piece(0)
    tracker.add_audio(1, 400, timed(100, 200, 300, words="How are you?"))
    assert tracker.heard(0) == ""
    assert tracker.heard(99) == ""
    assert tracker.heard(100) == "Hello"
    assert tracker.heard(200) == "Hello there."
    assert tracker.heard(399) == "Hello there."
    assert tracker.heard(500) == "Hello there. How are"
    assert not tracker.complete(700)
    tracker.finish_piece(1)
    assert not tracker.complete(699)
    assert tracker.complete(700)
    assert tracker.heard(700) == "Hello there. How are you?"


def test_without_timings_the_share_of_the_length_decides() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "aaaa bbbb  cccc dddd")
    tracker.add_audio(0, 1000)
    tracker.finish_piece(0)
    assert [tracker.heard(n) for n in (249, 250, 500, 749, 1000)] == [
        "",
        "aaaa",
        "aaaa bbbb",
        "aaaa bbbb",
        "aaaa bbbb  cccc dddd",
    ]


def test_unfinished_sound_is_not_taken_for_the_whole() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "aaaa bbbb cccc dddd")
    tracker.add_audio(0, 1000)
    assert tracker.heard(1000) == "aaaa bbbb"


def test_japanese_counts_by_characters() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "今日はいい天気。")
    tracker.add_audio(0, 800)
    tracker.finish_piece(0)
    assert tracker.heard(450) == "今日はい"


def test_what_is_said_differently_than_written_still_maps_to_the_text() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "**Salt** & pepper 🙂 at 21 °C and oil.")
    spoken = "Salt and pepper at 21 degrees Celsius and oil."
    tracker.add_audio(0, 1000, timed(*range(100, 1000, 100), words=spoken))
    tracker.finish_piece(0)
    assert tracker.heard(100) == "**Salt**"
    assert tracker.heard(200) == "**Salt** &"
    assert tracker.heard(300) == "**Salt** & pepper"
    assert tracker.heard(600) == "**Salt** & pepper 🙂 at 21"
    assert tracker.heard(700) == "**Salt** & pepper 🙂 at 21 °C"
    assert tracker.heard(1000) == "**Salt** & pepper 🙂 at 21 °C and oil."


def test_a_piece_without_sound_is_heard_with_what_precedes_it() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "Yes. ")
    tracker.add_piece(1, "🙂 ")
    tracker.add_piece(2, "No.")
    tracker.add_audio(0, 100)
    for index in (0, 1):
        tracker.finish_piece(index)
    assert tracker.heard(99) == ""
    assert tracker.heard(100) == "Yes. 🙂"
    assert not tracker.complete(100)


def test_timings_of_a_piece_may_come_in_parts() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "one two three four")
    tracker.add_audio(0, 200, timed(100, 200, words="one two"))
    assert tracker.heard(200) == "one two"
    tracker.add_audio(0, 200, timed(300, 400, words="three four"))
    assert tracker.heard(300) == "one two three"


def test_an_empty_reply_is_complete() -> None:
    assert HeardTracker().complete(0)
    assert HeardTracker().heard(10) == ""


TEXT = st.text(alphabet="abc 今日。.,🙂1", max_size=30)
PIECE = st.tuples(TEXT, st.integers(0, 500), st.booleans(), st.lists(st.integers(0, 500), max_size=8))


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECE, max_size=5))
def test_more_played_is_never_less_heard(pieces: list[tuple[str, int, bool, list[int]]]) -> None:
    tracker = HeardTracker()
    total = 0
    for index, (text, samples, finished, ends) in enumerate(pieces):
        tracker.add_piece(index, text)
        words = [WordTiming(word, 0, min(end, samples)) for word, end in zip(text.split(), sorted(ends), strict=False)]
        tracker.add_audio(index, samples, words)
        total += samples
        if finished:
            tracker.finish_piece(index)
    whole = "".join(text for text, *_ in pieces)
    before = ""
    for played in range(0, total + 10, 7):
        heard = tracker.heard(played)
        assert whole.startswith(heard)
        assert heard.startswith(before)
        before = heard
    if tracker.complete(total):
        assert tracker.heard(total) == whole.rstrip()


def test_a_voice_is_known_by_how_fast_it_has_spoken() -> None:
    rate = SpeakingRate()
    before = HeardTracker(rate)
    before.add_piece(0, "aaaa bbbb cccc dddd")
    before.add_audio(0, 2000)
    before.finish_piece(0)
    tracker = HeardTracker(rate)
    tracker.add_piece(0, "eeee ffff gggg hhhh")
    tracker.add_audio(0, 1000)
    assert [tracker.heard(played) for played in (499, 500, 999, 1000)] == ["", "eeee", "eeee", "eeee ffff"]
    tracker.add_audio(0, 1000)
    assert tracker.heard(2000) == "eeee ffff gggg"
    tracker.add_audio(0, 1000)
    assert tracker.heard(3000) == "eeee ffff gggg", "there may be more of the last word"


def test_a_voice_that_speaks_faster_now_is_believed_by_and_by() -> None:
    rate = SpeakingRate()
    assert rate.samples(10) is None
    rate.learn(1000, 100_000)
    rate.learn(0, 100)
    rate.learn(100, 0)
    assert rate.samples(10) == 1000
    for _ in range(20):
        rate.learn(1000, 50_000)
    assert rate.samples(10) == pytest.approx(500, abs=2)


def test_a_voice_that_does_not_say_which_piece_it_speaks_is_followed_all_the_same() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "aaaa bbbb. ")
    tracker.add_piece(1, "cccc dddd.")
    tracker.add_audio(None, 1100)
    tracker.add_audio(None, 1100)
    assert not tracker.complete(2200), "more may come"
    tracker.finish()
    assert [tracker.heard(played) for played in (499, 1100, 1600, 2200)] == [
        "",
        "aaaa bbbb.",
        "aaaa bbbb. cccc",
        "aaaa bbbb. cccc dddd.",
    ]
    assert tracker.complete(2200)


def test_its_timings_count_from_its_first_sound() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "One two. ")
    tracker.add_piece(1, "Three.")
    tracker.add_audio(None, 300, timed(100, 200, words="One two."))
    tracker.add_audio(None, 100, timed(380, words="Three."))
    assert [tracker.heard(played) for played in (99, 100, 379, 380)] == ["", "One", "One two.", "One two. Three."]


def test_a_piece_is_over_when_the_next_is_heard_even_if_nobody_says_so() -> None:
    tracker = HeardTracker()
    tracker.add_piece(0, "aaaa bbbb. ")
    tracker.add_piece(1, "cccc dddd.")
    tracker.add_audio(0, 1000)
    assert tracker.heard(1000) != "aaaa bbbb."
    tracker.add_audio(1, 1000)
    assert tracker.heard(1000) == "aaaa bbbb."
