from __future__ import annotations

import asyncio
import gc

import pytest

from agents.base.abort import SETTLE_S, Aborted, AbortToken
from agents.base.clock import now
from agents.base.errors import GloveError
from agents.testing import left_behind


def test_an_abort_is_final_and_its_first_reason_stays() -> None:
    token = AbortToken()
    assert not token.aborted
    token.check()
    token.abort("interrupted")
    token.abort("later")
    assert token.aborted
    assert token.reason == "interrupted"
    with pytest.raises(Aborted, match="interrupted"):
        token.check()


def test_callbacks_run_once_in_order_and_a_failing_one_does_not_stop_the_rest() -> None:
    token, seen = AbortToken(), []
    token.on_abort(lambda: seen.append("tts"))
    token.on_abort(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    remove = token.on_abort(lambda: seen.append("removed"))
    token.on_abort(lambda: seen.append("player"))
    remove()
    remove()
    token.abort()
    token.abort()
    assert seen == ["tts", "player"]


def test_a_callback_that_comes_too_late_runs_at_once() -> None:
    token, seen = AbortToken(), []
    token.abort()
    token.on_abort(lambda: seen.append("now"))()
    assert seen == ["now"]


async def test_work_that_finishes_first_wins() -> None:
    token = AbortToken()
    assert await token.race(asyncio.sleep(1, "done")) == "done"
    token.abort()


async def test_an_abort_ends_the_wait_and_leaves_nothing_running() -> None:
    token, ended = AbortToken(), []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(now())

    asyncio.get_running_loop().call_later(2, token.abort, "interrupted")
    with pytest.raises(Aborted, match="interrupted"):
        await token.race(work())
    assert ended == pytest.approx([2])


async def test_an_aborted_token_does_not_even_begin() -> None:
    token, begun = AbortToken(), []

    async def work() -> None:
        begun.append(True)

    token.abort()
    with pytest.raises(Aborted):
        await token.race(work())
    assert begun == []


async def test_a_cancellation_from_outside_stays_a_cancellation() -> None:
    token, ended = AbortToken(), []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(True)

    task = asyncio.create_task(token.race(work()))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_cancellation_is_not_hidden_by_an_abort_at_the_same_moment() -> None:
    token = AbortToken()
    task = asyncio.create_task(token.race(asyncio.sleep(100)))
    await asyncio.sleep(1)
    task.cancel()
    token.abort()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_fault_of_the_work_is_passed_on() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await AbortToken().race(work())


async def test_work_that_cancels_itself_does_not_take_its_caller_along() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(GloveError) as fault:
        await AbortToken().race(work())
    assert fault.value.code == "ERR_STOPPED_ITSELF"


async def test_work_that_does_not_notice_an_abort_holds_nobody_up_for_long() -> None:
    token, ended = AbortToken(), []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(60)
            ended.append(now())

    asyncio.get_running_loop().call_later(1, token.abort)
    with pytest.raises(Aborted):
        await token.race(work())
    assert now() == pytest.approx(1 + SETTLE_S)
    await asyncio.sleep(100)
    assert ended == [pytest.approx(61)]
    assert left_behind() == []


async def test_giving_up_at_a_time_limit_leaves_nothing_to_complain_about() -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await AbortToken().race(asyncio.gather(asyncio.sleep(100)))
    await asyncio.sleep(1)
    gc.collect()
    assert told == []
    assert left_behind() == []
