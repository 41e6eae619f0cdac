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
    record.barge_in.words("Stop.", "en")
    assert record.calls == ["pause"]
    record.barge_in.words("Stop it", "en")
    assert record.calls == ["pause", "cut"]


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
