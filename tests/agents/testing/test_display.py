"""A scripted display answers what it was told to answer and complains about everything else."""

from __future__ import annotations

import pytest

from agents.base import clock
from agents.testing import Answer, ScriptedDisplay, Unanswered


async def test_questions_are_answered_in_order_and_in_their_time() -> None:
    display = ScriptedDisplay([Answer("generic", "tea", delay_s=3), Answer("generic", ValueError("no"))])
    assert await display.push_and_wait("generic", {"q": "tea or coffee?"}) == "tea"
    assert clock.now() == pytest.approx(3)
    await display.push_and_forget("card")
    with pytest.raises(ValueError, match="no"):
        await display.push_and_wait("generic")
    assert [slot.renderer for slot in display.shown] == ["generic", "card", "generic"]
    display.assert_finished()


async def test_a_question_may_stay_open() -> None:
    display = ScriptedDisplay([Unanswered("generic")])
    with pytest.raises(TimeoutError):
        await display.push_and_wait("generic", timeout_s=1)
    display.assert_finished()


async def test_an_unforeseen_question_and_an_unused_answer_fail() -> None:
    display = ScriptedDisplay([Answer("generic", 1)])
    with pytest.raises(AssertionError, match="1 answers were not asked for"):
        display.assert_finished()
    with pytest.raises(AssertionError, match="does not expect"):
        await display.push_and_wait("permission_request")
    with pytest.raises(AssertionError, match="did not expect"):
        display.assert_finished()
