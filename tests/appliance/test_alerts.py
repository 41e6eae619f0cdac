"""A timer that is due is heard until it is dismissed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agents.base.emitter import Emitter
from agents.base.errors import GloveVoiceError
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook, TimerDue
from appliance.daemon.alerts import REPEAT_S, Alerts, alert_text
from audio.events import UserTurn


class Voice:
    """Takes a second to say anything, and remembers it; before that it waits until nobody is busy."""

    def __init__(self) -> None:
        self.events = Emitter()
        self.said: list[str] = []
        self.fails = 0
        self.busy_s = 0.0

    async def announce(self, text: str, *, urgent: bool = False, wanted: Callable[[], bool] = lambda: True) -> None:
        assert urgent
        await asyncio.sleep(self.busy_s)
        if not wanted():
            return
        await asyncio.sleep(1)
        if self.fails:
            self.fails -= 1
            raise GloveVoiceError("ERR_TTS_SYNTHESIS", "The voice failed.")
        self.said.append(text)


async def started() -> tuple[Voice, TimerBook, Alerts]:
    voice, timers = Voice(), TimerBook(EverydayBook())
    await timers.start()
    alerts = Alerts(voice, timers, "en")
    alerts.start()
    return voice, timers, alerts


async def test_it_rings_again_until_dismissed() -> None:
    voice, timers, alerts = await started()
    await timers.set_timer(60, "tea")
    await asyncio.sleep(59.5)
    assert voice.said == []
    await asyncio.sleep(2 + 2 * (REPEAT_S + 1))
    assert voice.said == ["Your tea timer is ringing."] * 3
    timers.dismiss()
    await asyncio.sleep(10 * REPEAT_S)
    assert len(voice.said) == 3
    await timers.set_timer(1)
    await asyncio.sleep(3)
    assert voice.said[3:] == ["Your timer for 1 second is ringing."]
    await alerts.close()
    await timers.close()


async def test_what_was_silenced_while_another_one_rang_is_not_said() -> None:
    voice, timers, alerts = await started()
    await timers.set_timer(10, "tea")
    await timers.set_timer(10, "egg")
    await asyncio.sleep(10.5)
    timers.dismiss()  # "stop", during the first of the two
    await asyncio.sleep(5)
    assert voice.said == ["Your tea timer is ringing."]
    await alerts.close()
    await timers.close()


async def test_what_was_silenced_by_the_turn_that_it_waited_for_is_not_said() -> None:
    voice, timers, alerts = await started()
    await timers.set_timer(10, "tea")
    await asyncio.sleep(10.5)
    voice.busy_s = 3.0  # "stop" is being heard and answered
    await asyncio.sleep(REPEAT_S + 2)
    timers.dismiss()
    await asyncio.sleep(10)
    assert voice.said == ["Your tea timer is ringing."]
    await alerts.close()
    await timers.close()


async def test_it_speaks_the_language_of_the_last_turn() -> None:
    voice, timers, alerts = await started()
    voice.events.emit(UserTurn(0.0, "Stell einen Timer", "de"))
    await timers.set_timer(60)
    await asyncio.sleep(62)
    assert voice.said == ["Dein Timer über eine Minute klingelt."]
    await alerts.close()
    await timers.close()


async def test_a_voice_that_fails_once_does_not_lose_the_timer() -> None:
    voice, timers, alerts = await started()
    voice.fails = 1
    await timers.set_timer(1, "egg")
    await asyncio.sleep(4 + REPEAT_S)
    assert voice.said == ["Your egg timer is ringing."]
    await alerts.close()
    await timers.close()


async def test_after_closing_nothing_is_said() -> None:
    voice, timers, alerts = await started()
    await alerts.close()
    await timers.set_timer(1)
    await asyncio.sleep(60)
    assert voice.said == []
    await timers.close()


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "While I was off, your alarm was due, 2 hours ago."),
        ("de", "Während ich aus war, ist dein Wecker abgelaufen, vor 2 Stunden."),
        ("fr", "While I was off, your alarm was due, 2 hours ago."),
    ],
)
def test_a_missed_one_is_told_as_missed(language: str, expected: str) -> None:
    event = TimerDue("1", None, "alarm", 60, datetime(2026, 1, 1, tzinfo=UTC), missed=True, late_s=7200)
    assert alert_text(event, language) == expected
