import asyncio

import pytest

from audio.turns.barge_in import BargeIn


class Record:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.barge_in = BargeIn(
            lambda: self.calls.append("pause"), lambda: self.calls.append("resume"), lambda: self.calls.append("cut")
        )


async def test_the_first_frame_pauses_and_a_misfire_resumes() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.started()
    record.barge_in.misfire()
    assert record.calls == ["pause", "resume"]


async def test_several_words_take_the_floor() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words("What about Tuesday?", "en")
    assert record.calls == ["pause", "cut"]


async def test_one_word_takes_the_floor_when_it_is_understood_twice() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words("Tuesday.", "en")
    assert record.calls == ["pause"]
    record.barge_in.words("Tuesday then", "en")
    assert record.calls == ["pause", "cut"]


@pytest.mark.parametrize(
    ("text", "language"),
    [("Stop.", "en"), ("Stopp!", "de"), ("¡Para!", "es"), ("Arrête.", "fr"), ("ストップ", "ja"), ("止めて。", "ja")],
)
async def test_stop_takes_the_floor_at_once_in_every_language(text: str, language: str) -> None:
    record = Record()
    record.barge_in.own_words = lambda: text
    record.barge_in.is_far = lambda: True
    record.barge_in.started()
    record.barge_in.words(text, language)
    assert record.calls == ["pause", "cut"], "whatever the agent says itself, and from however far away"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Mhm, yeah.", "en"),
        ("Ha ha ha.", "en"),
        ("[laughter]", "en"),
        ("Ja, genau.", "de"),
        ("Ach so.", "de"),
        ("Sí, claro.", "es"),
        ("Jajaja.", "es"),
        ("Oui, d'accord.", "fr"),
        ("うん、うん。", "ja"),
        ("そうですね。", "ja"),
        ("なるほど。", "ja"),
    ],
)
async def test_listeners_of_every_language_may_show_that_they_listen(text: str, language: str) -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words(text, language)
    await asyncio.sleep(1.3)
    assert record.barge_in.ended(text, language) is False
    assert record.calls == ["pause", "resume"]


async def test_one_word_and_a_voice_that_goes_on_take_the_floor_soon() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    await asyncio.sleep(0.3)
    record.barge_in.words("What", "en")
    await asyncio.sleep(0.19)
    assert record.calls == ["pause"]
    await asyncio.sleep(0.02)
    assert record.calls == ["pause", "cut"]


async def test_a_word_that_is_understood_late_takes_the_floor_at_once() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    await asyncio.sleep(0.6)
    record.barge_in.words("What", "en")
    assert record.calls == ["pause", "cut"]


async def test_one_word_before_a_silence_takes_the_floor() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.quiet()
    record.barge_in.words("What?", "en", complete=True)
    assert record.calls == ["pause", "cut"]


async def test_a_short_voice_before_a_long_silence_is_not_taken_for_a_long_one() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    await asyncio.sleep(0.3)
    record.barge_in.quiet()
    await asyncio.sleep(2.0)
    assert record.calls == ["pause"]
    await asyncio.sleep(1.0)
    assert record.calls == ["pause", "resume"], "and the silence has a deadline of its own"


async def test_somebody_who_laughs_for_long_loses_the_pause_but_not_the_chance_to_speak() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words("Ha ha ha", "en")
    await asyncio.sleep(2.6)
    assert record.calls == ["pause", "resume"]
    record.barge_in.words("Ha ha ha", "en")
    assert record.calls == ["pause", "resume"]
    record.barge_in.words("Ha ha wait a moment", "en")
    assert record.calls == ["pause", "resume", "cut"]


async def test_words_at_the_end_of_a_long_laugh_take_the_floor() -> None:
    record = Record()
    record.barge_in.started()
    await asyncio.sleep(3.0)
    assert record.barge_in.ended("Oh, that is good.", "en") is True
    assert record.calls == ["pause", "resume", "cut"]


SAID = "The bus leaves at seven thirty from the station"


@pytest.mark.parametrize(
    "heard", ["leaves at seven thirty from", "seven thirty from the station", "The station.", "station"]
)
async def test_its_own_words_do_not_take_the_floor(heard: str) -> None:
    record = Record()
    record.barge_in.own_words = lambda: SAID
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words(heard, "en")
    record.barge_in.words(heard, "en", complete=True)
    assert record.barge_in.ended(heard, "en") is False
    assert record.calls == ["pause", "resume"]


@pytest.mark.parametrize("heard", ["At what time?", "seven or eight thirty maybe", "Leaves?", "from where"])
async def test_other_words_do_although_some_of_them_were_just_said(heard: str) -> None:
    record = Record()
    record.barge_in.own_words = lambda: SAID
    record.barge_in.started()
    assert record.barge_in.ended(heard, "en") is True
    assert record.calls == ["pause", "cut"]


async def test_talk_at_another_table_does_not_take_the_floor() -> None:
    record = Record()
    record.barge_in.is_far = lambda: True
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words("and then she said to me", "en")
    await asyncio.sleep(2.4)
    assert record.calls == ["pause"]
    await asyncio.sleep(0.2)
    assert record.calls == ["pause", "resume"]


async def test_a_hum_that_is_taken_for_other_words_each_time_does_not() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words("Helen,", "en")
    record.barge_in.words("How may?", "en")
    assert record.barge_in.ended("Mhm.", "en") is False
    assert record.calls == ["pause", "resume"]


async def test_a_word_at_the_end_of_speech_takes_the_floor() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    assert record.barge_in.ended("Stop.", "en") is True
    assert record.calls == ["pause", "cut"]


@pytest.mark.parametrize("text", ["", "Mhm.", "[coughs]", "Yeah."])
async def test_what_is_no_turn_gives_the_floor_back(text: str) -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    record.barge_in.words(text, "en")
    assert record.barge_in.ended(text, "en") is False
    assert record.calls == ["pause", "resume"]


async def test_long_speech_takes_the_floor_whatever_its_words() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.confirmed()
    await asyncio.sleep(1.1)
    assert record.calls == ["pause"]
    await asyncio.sleep(0.2)
    assert record.calls == ["pause", "cut"]


async def test_a_pause_that_nobody_ends_ends_by_itself() -> None:
    record = Record()
    record.barge_in.started()
    await asyncio.sleep(3.0)
    assert record.calls == ["pause", "resume"]


async def test_a_second_pause_works_like_the_first() -> None:
    record = Record()
    for _ in range(2):
        record.barge_in.started()
        record.barge_in.misfire()
    assert record.calls == ["pause", "resume"] * 2


async def test_release_calls_nothing_and_leaves_no_timer() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.release()
    await asyncio.sleep(5)
    assert record.calls == ["pause"]


async def test_words_after_the_floor_was_taken_still_count_as_a_turn() -> None:
    record = Record()
    record.barge_in.started()
    record.barge_in.words("Stop it now.", "en")
    assert record.barge_in.ended("Stop it.", "en") is True
    assert record.calls == ["pause", "cut"]
