"""Timers ring when they should, survive restarts, and do not care about clocks that jump."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agents.base.clock import VirtualLoop, now, run_virtual, wall
from agents.base.errors import GloveError, InputError
from agents.everyday.book import EverydayBook, TimerRow
from agents.everyday.timer_tools import SetAlarmArgs, next_due
from agents.everyday.timers import TimerBook, TimerDismissed, TimerDue
from agents.models.matcher import SentenceMatcher
from tests.agents.everyday.desk import BERLIN, NOON, Desk


def _listen(timers: TimerBook) -> list[tuple[float, TimerDue]]:
    heard: list[tuple[float, TimerDue]] = []
    timers.events.on(TimerDue, lambda event: heard.append((now(), event)))
    return heard


async def test_one_unforeseen_fault_does_not_silence_the_other_timers() -> None:
    class Stumbling(EverydayBook):
        async def delete_timer(self, timer_id: str) -> None:
            raise RuntimeError("out of threads")

    timers = TimerBook(Stumbling())
    heard = _listen(timers)
    await timers.start()
    for seconds in (10, 60):
        await timers.set_timer(seconds)
    await asyncio.sleep(120)
    assert [event.seconds for _, event in heard] == [10, 60]
    await timers.close()


async def test_timers_ring_in_time_and_in_order() -> None:
    timers = TimerBook(EverydayBook())
    heard = _listen(timers)
    await timers.start()
    started = now()
    await timers.set_timer(300, "tea")
    await timers.set_timer(60)
    await timers.set_timer(3600.5)
    await asyncio.sleep(4000)
    assert [event.name for _, event in heard] == [None, "tea", None]
    assert [at - started for at, _ in heard] == pytest.approx([60, 300, 3600.5], abs=0.1)
    assert not any(event.missed for _, event in heard)
    await timers.close()


async def test_a_ringing_timer_rings_until_dismissed() -> None:
    timers = TimerBook(EverydayBook())
    silenced: list[TimerDismissed] = []
    timers.events.on(TimerDismissed, silenced.append)
    await timers.start()
    await timers.set_timer(5, "tea")
    await asyncio.sleep(6)
    assert [event.name for event in timers.ringing()] == ["tea"]
    assert timers.running() == []
    assert [event.name for event in timers.dismiss()] == ["tea"]
    assert timers.ringing() == []
    assert [event.name for event in silenced] == ["tea"]
    assert timers.dismiss() == []
    await timers.close()


async def test_timers_survive_a_restart_and_missed_ones_are_told(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    book = EverydayBook(path)
    timers = TimerBook(book)
    await timers.start()
    await timers.set_timer(60, "short")
    await timers.set_timer(600, "long")
    await timers.close()
    await book.close()

    await asyncio.sleep(120)  # nothing runs meanwhile
    book = EverydayBook(path)
    timers = TimerBook(book)
    heard = _listen(timers)
    missed = await timers.start()
    assert [(event.name, event.missed, round(event.late_s)) for event in missed] == [("short", True, 60)]
    assert [event.name for _, event in heard] == ["short"]
    assert [(timer.name, round(timer.remaining_s)) for timer in timers.running()] == [("long", 480)]
    await asyncio.sleep(481)
    assert [event.name for _, event in heard] == ["short", "long"]
    await timers.close()
    again = TimerBook(book)  # nobody silenced them: they ring once more
    assert [event.name for event in await again.start()] == ["short", "long"]
    again.dismiss()
    await again.close()
    await book.close()
    assert await EverydayBook(path).timers() == []


@pytest.mark.parametrize("jump_s", [-7200, 7200], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_moves_no_timer(tmp_path: Path, jump_s: int) -> None:
    book = EverydayBook(tmp_path / "book.db")
    timers = TimerBook(book)
    heard = _listen(timers)
    await timers.start()
    started = now()
    await timers.set_timer(300)
    await asyncio.sleep(10)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.wall_start += timedelta(seconds=jump_s)
    await asyncio.sleep(45)
    assert heard == []
    (row,) = await book.timers()  # a restart now would find the right time
    assert (row.due - wall()).total_seconds() == pytest.approx(245, abs=1)
    await asyncio.sleep(300)
    assert [at - started for at, _ in heard] == pytest.approx([300], abs=0.1)
    await timers.close()


async def test_an_alarm_follows_the_wall_clock() -> None:
    timers = TimerBook(EverydayBook())
    heard = _listen(timers)
    await timers.start()
    await timers.set_alarm(wall() + timedelta(hours=2))
    await asyncio.sleep(10)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.wall_start += timedelta(hours=1)  # the network corrects the clock
    await asyncio.sleep(3600 - 20)
    assert heard == []
    await asyncio.sleep(40)
    assert len(heard) == 1
    await timers.close()


async def test_changed_and_cancelled_timers() -> None:
    timers = TimerBook(EverydayBook())
    heard = _listen(timers)
    await timers.start()
    started = now()
    longer = await timers.set_timer(60, "longer")
    dropped = await timers.set_timer(30, "dropped")
    await timers.change(longer.id, 120)
    assert await timers.cancel(dropped.id)
    assert not await timers.cancel(dropped.id)
    await asyncio.sleep(400)
    assert [(event.name, round(at - started)) for at, event in heard] == [("longer", 180)]
    with pytest.raises(InputError):
        await timers.change(longer.id, 5)
    await timers.close()


@pytest.mark.parametrize("seconds", [0, -5, 8 * 86_400, float("nan"), float("inf")])
async def test_absurd_lengths_are_refused(seconds: float) -> None:
    with pytest.raises(InputError):
        await TimerBook(EverydayBook()).set_timer(seconds)


class SlowBook(EverydayBook):
    """Takes five seconds to store a timer for the second time, and may fail then."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0
        self.full = False

    async def save_timer(self, row: TimerRow) -> None:
        self.saved += 1
        if self.saved > 1:
            await asyncio.sleep(5)
            if self.full:
                raise GloveError("ERR_STORE", "The disk is full.")
        await super().save_timer(row)


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_timer_that_rings_or_is_cancelled_while_its_change_is_stored_does_not_come_back(
    cancelled: bool,
) -> None:
    timers = TimerBook(SlowBook())
    heard = _listen(timers)
    await timers.start()
    timer = await timers.set_timer(60)
    change = asyncio.create_task(timers.change(timer.id, -58))
    await asyncio.sleep(0.1)
    if cancelled:
        await timers.cancel(timer.id)
    await change
    assert not timers.running()
    await asyncio.sleep(100)
    assert len(heard) == (0 if cancelled else 1)
    await timers.close()


async def test_two_changes_at_once_both_count() -> None:
    timers = TimerBook(SlowBook())
    await timers.start()
    timer = await timers.set_timer(60)
    await asyncio.gather(timers.change(timer.id, 60), timers.change(timer.id, 60))
    assert timers.running()[0].remaining_s == pytest.approx(175, abs=0.1)
    await timers.close()


async def test_a_change_that_cannot_be_stored_changes_nothing() -> None:
    book = SlowBook()
    timers = TimerBook(book)
    await timers.start()
    timer = await timers.set_timer(60)
    book.full = True
    with pytest.raises(GloveError):
        await timers.change(timer.id, 600)
    assert timers.running()[0].remaining_s == pytest.approx(55, abs=0.1)
    await timers.close()


async def test_a_full_disk_does_not_stop_what_runs(tmp_path: Path) -> None:
    book = EverydayBook(tmp_path / "book.db")
    timers = TimerBook(book)
    heard = _listen(timers)
    await timers.start()
    await timers.set_timer(30)
    await book.close()
    (tmp_path / "book.db").unlink()
    (tmp_path / "book.db").mkdir()
    await asyncio.sleep(31)
    assert len(heard) == 1
    await timers.close()


def test_a_full_disk_is_said_politely_and_no_timer_is_promised(matcher: SentenceMatcher) -> None:
    class FullBook(EverydayBook):
        async def save_timer(self, row: TimerRow) -> None:
            raise GloveError("ERR_STORE", "database or disk is full")

    async def talk() -> None:
        desk = Desk(book=FullBook())
        await desk.timers.start()
        assert await desk.say(matcher, "Set a timer for ten minutes.") == "I can't store or read that right now."
        assert not desk.timers.running()
        await desk.timers.close()

    run_virtual(talk(), wall_start=NOON)


def test_a_conversation_about_timers(matcher: SentenceMatcher) -> None:
    async def talk() -> None:
        desk = Desk()
        await desk.timers.start()
        say = desk.say
        assert await say(matcher, "How long is left on the timer?") == "No timer is running."
        assert await say(matcher, "Cancel the timer.") == "No timer is running."
        assert await say(matcher, "Set a timer for 1 hour and 20 minutes.") == "Timer set for 1 hour and 20 minutes."
        assert await say(matcher, "Set a pasta timer for ten minutes.") == "Pasta timer set for 10 minutes."
        assert await say(matcher, "Remind me to call Anna in an hour.") == "I'll remind you after 1 hour: call Anna."
        await asyncio.sleep(60)
        assert await say(matcher, "How much time is left on the pasta timer?") == "Pasta timer: 9 minutes left."
        assert await say(matcher, "How much time is left on the egg timer?") == "There is no egg timer."
        assert (await say(matcher, "Cancel the timer.")).startswith("Which one? There are Pasta timer, ")
        assert await say(matcher, "Add five minutes to the pasta timer.") == "Pasta timer: 14 minutes left."
        assert await say(matcher, "Take 20 minutes off the pasta timer.") == "It only has 14 minutes left."
        assert await say(matcher, "Cancel the pasta timer.") == "Pasta timer cancelled."
        assert await say(matcher, "Lösche alle Timer.", "de") == "2 gelöscht."
        assert await say(matcher, "Stell einen Timer auf eine Stunde.", "de") == "Timer über eine Stunde läuft."
        assert await say(matcher, "Wie lange noch?", "de") == "Timer über eine Stunde: noch eine Stunde."
        assert await say(matcher, "Stopp den Timer.", "de") == "Timer über eine Stunde gelöscht."
        assert await say(matcher, "Set a timer for 0 minutes.") == (
            "A timer can run for at least one second and at most a week."
        )
        assert await say(matcher, "Stop. Set a timer for five minutes.") == "Okay. Timer set for 5 minutes."
        await desk.timers.close()

    run_virtual(talk(), wall_start=NOON)


async def test_stop_silences_what_rings(desk: Desk, matcher: SentenceMatcher) -> None:
    await desk.timers.start()
    for command in ("Stop.", "Stop the timer.", "Turn off the alarm."):
        if "alarm" in command:
            await desk.timers.set_alarm(wall() + timedelta(seconds=5))
        else:
            await desk.timers.set_timer(5)
        await desk.timers.set_timer(600, "other")
        await asyncio.sleep(6)
        assert desk.timers.ringing()
        assert await desk.say(matcher, command) == "Okay."
        assert desk.timers.ringing() == []
        assert [timer.name for timer in desk.timers.running()] == ["other"]
        assert await desk.say(matcher, "Cancel all timers.") == "Other timer cancelled."
    await desk.timers.close()


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ({"hour": 7, "minute": 30, "when": "am"}, "2026-03-03 07:30"),
        ({"hour": 7, "minute": 30}, "2026-03-02 19:30"),
        ({"hour": 7, "exact": True}, "2026-03-03 07:00"),
        ({"hour": 8, "minute": -30}, "2026-03-02 19:30"),
        ({"hour": 9, "minute": 10, "before": True, "when": "pm"}, "2026-03-02 20:50"),
        ({"hour": 7, "when": "tomorrow"}, "2026-03-03 07:00"),
        ({"hour": 7, "when": "tomorrow pm"}, "2026-03-03 19:00"),
        ({"hour": 0, "exact": True}, "2026-03-03 00:00"),
        ({"hour": 12, "exact": True}, "2026-03-03 12:00"),
        ({"hour": 12, "when": "am"}, "2026-03-03 00:00"),
        ({"hour": 1, "minute": -15}, "2026-03-02 12:45"),
        ({"hour": 15, "minute": 20}, "2026-03-02 15:20"),
    ],
)
def test_alarm_times_mean_the_next_such_moment(arguments: dict[str, object], due: str) -> None:
    noon = datetime(2026, 3, 2, 12, 0, tzinfo=BERLIN)
    assert f"{next_due(SetAlarmArgs.model_validate(arguments), noon):%Y-%m-%d %H:%M}" == due


def test_alarms_are_confirmed_with_their_day(matcher: SentenceMatcher) -> None:
    async def talk() -> None:
        desk = Desk()
        await desk.timers.start()
        assert await desk.say(matcher, "Set an alarm for 7:30 a.m.") == "Alarm set for tomorrow at 7:30 AM."
        assert await desk.say(matcher, "Weck mich um halb sieben.", "de") == "Der Wecker ist gestellt: 18:30 Uhr."
        assert await desk.say(matcher, "What alarms are set?") == "Alarm: 6:30 PM. Alarm: tomorrow at 7:30 AM."
        assert await desk.say(matcher, "Turn off all alarms.") == "2 cancelled."
        await desk.timers.close()

    run_virtual(talk(), wall_start=NOON.astimezone(UTC))
