"""What time and what day it is, here and elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any

from pydantic import BaseModel, Field

from agents.base.clock import infer, wall
from agents.core.messages import ToolResultData
from agents.core.model import Sentences
from agents.core.tool import Tool, ToolContext
from agents.everyday.phrases import failure, locale_of, pick, success
from agents.everyday.places import find_zone, system_zone

Now = Callable[[], datetime]

_PLACES_COST_S = 0.1


class TimeArgs(BaseModel):
    """Where to tell the time."""

    place: str | None = Field(default=None, description="City or country; leave out for the user's own time.")


class DateArgs(BaseModel):
    """Which day to tell."""

    days: int = Field(
        default=0, ge=-36_500, le=36_500, description="Days from today: 0 today, 1 tomorrow, -1 yesterday."
    )


_TIME = (
    Sentences(
        "en",
        (
            "what time is it [now|right now|here]",
            "what is the [current] time [now|right now|here]",
            "[the] time",
            "[what] time is it [now]",
            "how late is it",
            "what is the time [please]",
            "give me the time",
            "the current time",
            "what time it is",
            "what the time is",
            "check the time",
        ),
    ),
    Sentences(
        "en",
        (
            "what time is it [now|right now] in {place}",
            "what is the [current|local] time in {place}",
            "time in {place}",
            "the time in {place}",
            "what time it is in {place}",
            "what the time is in {place}",
        ),
        {"place": {"wildcard": True}},
    ),
    Sentences(
        "de",
        (
            "wie (spät|viel uhr) ist es [jetzt|gerade|hier]",
            "wie (spät|viel uhr) haben wir [es] [jetzt|gerade]",
            "wie (spät|viel uhr) es [jetzt|gerade] ist",
            "[was ist] die [aktuelle] uhrzeit",
            "uhrzeit",
            "(sag|sage|nenn|nenne) [mir] [mal] die [aktuelle] uhrzeit",
            "wie ist die [aktuelle] uhrzeit",
            "wie spät",
        ),
    ),
    Sentences(
        "de",
        (
            "wie (spät|viel uhr) ist es [jetzt|gerade] in {place}",
            "wie (spät|viel uhr) es [jetzt|gerade] in {place} ist",
            "[wie ist|was ist] die [aktuelle] uhrzeit in {place}",
            "uhrzeit in {place}",
        ),
        {"place": {"wildcard": True}},
    ),
)

_DAYS_EN: dict[str, Any] = {
    "values": [
        {"in": "today", "out": 0},
        {"in": "tomorrow", "out": 1},
        {"in": "yesterday", "out": -1},
        {"in": "[the] day after tomorrow", "out": 2},
        {"in": "[the] day before yesterday", "out": -2},
    ]
}
_DAYS_DE: dict[str, Any] = {
    "values": [
        {"in": "heute", "out": 0},
        {"in": "morgen", "out": 1},
        {"in": "gestern", "out": -1},
        {"in": "übermorgen", "out": 2},
        {"in": "vorgestern", "out": -2},
    ]
}
_DATE = (
    Sentences(
        "en",
        (
            "what (day|date) is it [today|now]",
            "what is the [current] (date|day) [today]",
            "what is today [date]",
            "what is today's date",
            "today's date",
            "what day of the week is it [today]",
            "which day is it [today]",
            "what weekday is it [today]",
            "what day it is [today]",
            "what is the date today",
            "what the date is",
            "what day of the month is it [today]",
            "what year is it",
            "what month is it",
            "the date",
            "what day is today",
        ),
    ),
    Sentences(
        "en",
        (
            "what (day|date|weekday) (is|was|will) {days} [be]",
            "what (is|was|will) the (date|day) [be] {days}",
            "what (day|date) (is|was|will) it [be] {days}",
            "what day of the week (is|was|will) [it] [be] {days}",
        ),
        {"days": _DAYS_EN},
    ),
    Sentences(
        "en",
        (
            "what (day|date|weekday) [is it|will it be|is] in {days} day[s]",
            "what is the (date|day) in {days} day[s]",
        ),
        {"days": (0, 36_500)},
    ),
    Sentences(
        "de",
        (
            "welcher (tag|wochentag) ist [heute|es]",
            "welchen (tag|wochentag) haben wir [heute]",
            "welches datum (ist|haben wir) [heute]",
            "was ist [heute] [für] ein tag [heute]",
            "der wievielte ist heute",
            "was für ein (tag|wochentag) ist [heute]",
            "was für einen tag haben wir [heute]",
            "den wievielten haben wir [heute]",
            "[was ist|wie ist|wie lautet] das [heutige|aktuelle] datum [heute|von heute]",
            "welcher tag heute ist",
            "(sag|sage|nenn|nenne) [mir] [mal] das [heutige] datum",
            "welches jahr haben wir",
            "welchen monat haben wir",
            "heutiges datum",
            "datum",
            "welches datum heute ist",
        ),
    ),
    Sentences(
        "de",
        (
            "welcher (tag|wochentag) (ist|war|wird) {days}",
            "welches datum (ist|war|haben wir) {days}",
            "was für ein (tag|wochentag) (ist|war) {days}",
            "welchen (tag|wochentag) (haben|hatten) wir {days}",
        ),
        {"days": _DAYS_DE},
    ),
    Sentences(
        "de",
        (
            "welcher (tag|wochentag) ist in {days} (tag|tagen)",
            "welches datum (ist|haben wir) in {days} (tag|tagen)",
            "was für ein (tag|wochentag) ist in {days} (tag|tagen)",
        ),
        {"days": (0, 36_500)},
    ),
)


def spoken_time(moment: datetime, language: str) -> str:
    """The time of day for the ear: "3:40 PM", "15:40 Uhr"."""
    from babel.dates import format_time

    text = format_time(moment, "short", locale=locale_of(language), tzinfo=moment.tzinfo).replace("\u202f", " ")
    return pick(language, en=text, de=f"{text} Uhr")


def spoken_date(moment: datetime, language: str) -> str:
    """The date with its weekday for the ear: "Monday, November 30, 2026"."""
    from babel.dates import format_date

    return format_date(moment.date(), "full", locale=locale_of(language))


def clock_tools(zone: tzinfo | None = None, now: Now = wall) -> list[Tool[Any]]:
    """The tools ``get_time`` and ``get_date``.

    Args:
        zone: the user's time zone; the system's when None.
        now: the clock, aware.
    """
    local = zone or system_zone()

    async def get_time(args: TimeArgs, ctx: ToolContext) -> ToolResultData:
        language = ctx.language
        if args.place is None:
            moment = now().astimezone(local)
            said = spoken_time(moment, language)
            return success(_moment(moment), pick(language, en=f"It is {said}.", de=f"Es ist {said}."))
        place = args.place
        found = await infer(lambda: find_zone(place), cost_s=_PLACES_COST_S)
        if found is None:
            return failure(
                {"place": place, "known": False},
                pick(
                    language,
                    en=f"I don't know the time zone of {place}.",
                    de=f"Die Zeitzone von {place} kenne ich nicht.",
                ),
            )
        moment = now().astimezone(found)
        said, day = spoken_time(moment, language), _other_day(moment, now().astimezone(local), language)
        return success(
            {**_moment(moment), "place": place},
            pick(language, en=f"In {place} it is {said}{day}.", de=f"In {place} ist es {said}{day}."),
        )

    async def get_date(args: DateArgs, ctx: ToolContext) -> ToolResultData:
        moment = now().astimezone(local) + timedelta(days=args.days)
        said = spoken_date(moment, ctx.language)
        return success(_moment(moment), _dated(args.days, said, ctx.language))

    return [
        Tool("get_time", "Tell the time, here or in a city or country.", get_time, TimeArgs, sentences=_TIME),
        Tool("get_date", "Tell the date and the day of the week.", get_date, DateArgs, sentences=_DATE),
    ]


def _moment(moment: datetime) -> dict[str, str]:
    return {"iso": moment.isoformat(timespec="seconds"), "weekday": moment.strftime("%A")}


def _other_day(there: datetime, here: datetime, language: str) -> str:
    difference = (there.date() - here.date()).days
    if difference == 0:
        return ""
    if difference > 0:
        return pick(language, en=" tomorrow", de=" morgen")
    return pick(language, en=" yesterday", de=" gestern")


def _dated(days: int, said: str, language: str) -> str:
    named = {
        0: ("Today is", "Heute ist"),
        1: ("Tomorrow is", "Morgen ist"),
        -1: ("Yesterday was", "Gestern war"),
        2: ("The day after tomorrow is", "Übermorgen ist"),
        -2: ("The day before yesterday was", "Vorgestern war"),
    }
    if days in named:
        return pick(language, en=f"{named[days][0]} {said}.", de=f"{named[days][1]} {said}.")
    verb = ("will be", "ist") if days > 0 else ("was", "war")
    amount = abs(days)
    en = f"In {amount} days it {verb[0]} {said}." if days > 0 else f"{amount} days ago it {verb[0]} {said}."
    de = f"In {amount} Tagen ist {said}." if days > 0 else f"Vor {amount} Tagen war {said}."
    return pick(language, en=en, de=de)
