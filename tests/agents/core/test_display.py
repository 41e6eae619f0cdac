"""Cards and questions: shown in order, answered once, and never a trap for the one who asked."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.display import DisplayManager, Slot, SlotPushed, SlotResolved, SlotTouched, SlotUpdated, Unanswered


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
    assert [type(outcome) for outcome in outcomes] == [Unanswered, Aborted, asyncio.CancelledError]
    assert isinstance(outcomes[0], TimeoutError)
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


async def test_a_question_that_somebody_holds_waits_for_them_and_then_as_long_as_ever() -> None:
    display = DisplayManager()
    waiting = await ask(display, timeout_s=3)
    release = display.hold("slot_1")
    await asyncio.sleep(60)
    assert not waiting.done()
    release()
    release()
    await asyncio.sleep(2.9)
    assert not waiting.done()
    await asyncio.sleep(0.2)
    assert isinstance(waiting.exception(), Unanswered)
    display.hold("slot_1")()


async def test_letting_go_of_a_question_that_is_over_does_nothing() -> None:
    display = DisplayManager()
    waiting = await ask(display, timeout_s=3)
    release = display.hold("slot_1")
    display.resolve("slot_1", "yes")
    assert await waiting == "yes"
    release()


async def test_who_is_busy_answering_gets_more_time() -> None:
    display = DisplayManager()
    touched: list[str] = []
    display.events.on(SlotTouched, lambda event: touched.append(event.slot.id))
    waiting = await ask(display, timeout_s=3)
    for _ in range(4):
        await asyncio.sleep(2)
        assert display.touch("slot_1")
    assert not waiting.done() and touched == ["slot_1"] * 4
    await asyncio.sleep(3.1)
    assert isinstance(waiting.exception(), Unanswered)
    assert not display.touch("slot_1")


async def test_the_words_of_an_answer_reach_the_one_who_asked() -> None:
    display = DisplayManager()
    said: list[str] = []
    display.events.on(SlotResolved, lambda event: said.append(event.said))
    asking = asyncio.ensure_future(display.ask("generic"))
    await asyncio.sleep(0)
    display.resolve("slot_1", True, said="Yes, please.")
    answer = await asking
    assert (answer.value, answer.said, said) == (True, "Yes, please.", ["Yes, please."])
