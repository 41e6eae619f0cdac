"""Cards and questions: shown in order, answered once, and never a trap for the one who asked."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.display import DisplayManager, Slot, SlotPushed, SlotResolved, SlotUpdated


async def ask(display: DisplayManager, **options: object) -> asyncio.Task[object]:
    waiting = asyncio.ensure_future(display.push_and_wait("generic", {"q": 1}, **options))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    return waiting


async def test_a_question_waits_for_its_answer_and_a_card_for_nothing() -> None:
    display = DisplayManager()
    card = await display.push_and_forget("card", {"text": "hi"})
    waiting = await ask(display)
    assert [slot.id for slot in display.stack] == [card, "slot_2"]
    assert display.pending == (Slot("slot_2", "generic", {"q": 1}, blocking=True),)
    assert not display.resolve(card, "cards have no answer")
    assert display.resolve("slot_2", "yes")
    assert not display.resolve("slot_2", "too late")
    assert await waiting == "yes"
    assert display.remove_slot(card)
    assert display.stack == display.pending == ()


async def test_a_listener_may_answer_while_it_is_being_told() -> None:
    display = DisplayManager()
    display.events.on(SlotPushed, lambda event: display.resolve(event.slot.id, 42))
    async with asyncio.timeout(1):
        assert await display.push_and_wait("generic") == 42


@pytest.mark.parametrize("how", ["reject", "remove", "clear"])
async def test_a_question_that_goes_away_tells_the_one_who_waits(how: str) -> None:
    display = DisplayManager()
    waiting = await ask(display)
    if how == "reject":
        display.reject("slot_1")
    elif how == "remove":
        display.remove_slot("slot_1")
    else:
        display.clear_stack()
    with pytest.raises(GloveError) as gone:
        await waiting
    assert gone.value.code == ("ERR_SLOT_REJECTED" if how == "reject" else "ERR_SLOT_REMOVED")
    assert display.stack == ()


async def test_a_question_ends_with_time_abort_or_cancellation() -> None:
    display, abort = DisplayManager(), AbortToken()
    late, aborted, cancelled = await ask(display, timeout_s=3), await ask(display, abort=abort), await ask(display)
    abort.abort("enough")
    cancelled.cancel()
    outcomes = await asyncio.gather(late, aborted, cancelled, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [TimeoutError, Aborted, asyncio.CancelledError]
    assert display.stack == ()


async def test_rooms_come_and_go_and_hear_every_change() -> None:
    display = DisplayManager()
    heard: list[str] = []
    stacks: list[int] = []
    off = display.subscribe(lambda stack: stacks.append(len(stack)))
    for kind in (SlotPushed, SlotUpdated, SlotResolved):
        display.events.on(kind, lambda event: heard.append(event.type))
    display.events.on(SlotPushed, lambda _: 1 / 0)
    card = await display.push_and_forget("card", 1)
    display.update(card, 2)
    assert display.stack[0].input == 2
    off()
    display.remove_slot(card)
    assert heard == ["slot", "slot_update", "slot_resolve"]
    assert stacks == [1, 1]
    assert not display.update(card, 3)
