"""Tools that set, list, change and cancel timers and alarms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal

from pydantic import BaseModel, Field

from agents.base.clock import wall
from agents.base.errors import InputError
from agents.core.messages import ToolResultData
from agents.core.tool import Tool, ToolContext
from agents.everyday import timer_sentences as say
from agents.everyday.alarm_sentences import SET_ALARM
from agents.everyday.clock_tools import spoken_time
from agents.everyday.phrases import failure, join, kept, pick, spoken_duration, success
from agents.everyday.places import system_zone
from agents.everyday.timers import RunningTimer, TimerBook, TimerDue

Kind = Literal["timer", "alarm"]


class LengthArgs(BaseModel):
    """A length of time; the parts add up."""

    hours: float = Field(default=0, ge=0, le=168)
    minutes: float = Field(default=0, ge=0, le=10_080)
    seconds: float = Field(default=0, ge=0, le=604_800)

    @property
    def total_s(self) -> float:
        """All parts together, in seconds."""
        return self.hours * 3600 + self.minutes * 60 + self.seconds


class SetTimerArgs(LengthArgs):
    """A new timer."""

    name: str | None = Field(default=None, max_length=100, description="What it is for, if the user said so.")
    reminder: bool = Field(default=False, description="Whether the user asked to be reminded of the name.")


class SetAlarmArgs(BaseModel):
    """A new alarm at a time of day."""

    hour: int = Field(ge=0, le=24)
    minute: int = Field(default=0, ge=-59, le=59, description="Below zero: minutes before the hour.")
    before: bool = Field(default=False, description="Whether minute counts backwards from the hour.")
    when: Literal["am", "pm", "today", "tomorrow", "tomorrow am", "tomorrow pm"] | None = None
    exact: bool = Field(default=False, description="Whether hour is meant on the 24-hour clock.")
    name: str | None = Field(default=None, max_length=100)


class PickArgs(LengthArgs):
    """Which timer: by name, by its length, by kind; nothing given means the only one."""

    name: str | None = None
    kind: Kind | None = None


class CancelArgs(PickArgs):
    """Which timers to cancel."""

    every: bool = Field(default=False, description="Whether to cancel all of them.")


class ChangeArgs(LengthArgs):
    """By how much to change which timer."""

    name: str | None = None
    shorter: bool = Field(default=False, description="Whether to take the time away instead of adding it.")


def timer_tools(timers: TimerBook, zone: tzinfo | None = None, now: Callable[[], datetime] = wall) -> list[Tool[Any]]:
    """The tools ``set_timer``, ``set_alarm``, ``list_timers``, ``change_timer`` and ``cancel_timer``."""
    tools = _TimerTools(timers, zone or system_zone(), now)
    return [
        Tool(
            "set_timer",
            "Start a timer, or a reminder after a length of time.",
            kept(tools.set_timer),
            SetTimerArgs,
            sentences=say.SET_TIMER,
        ),
        Tool("set_alarm", "Set an alarm at a time of day.", kept(tools.set_alarm), SetAlarmArgs, sentences=SET_ALARM),
        Tool(
            "list_timers",
            "Tell which timers and alarms run and how long they still take.",
            kept(tools.list_timers),
            PickArgs,
            sentences=say.LIST_TIMERS,
        ),
        Tool(
            "change_timer",
            "Lengthen or shorten a running timer.",
            kept(tools.change_timer),
            ChangeArgs,
            sentences=say.CHANGE_TIMER,
        ),
        Tool(
            "cancel_timer",
            "Cancel timers or alarms, or silence the ringing ones.",
            kept(tools.cancel_timer),
            CancelArgs,
            sentences=say.CANCEL_TIMER,
        ),
    ]


class _TimerTools:
    def __init__(self, timers: TimerBook, zone: tzinfo, now: Callable[[], datetime]) -> None:
        self._timers = timers
        self._zone = zone
        self._now = now

    async def set_timer(self, args: SetTimerArgs, ctx: ToolContext) -> ToolResultData:
        """Start a timer."""
        language = ctx.language
        try:
            timer = await self._timers.set_timer(args.total_s, args.name)
        except InputError as fault:
            return failure({"code": fault.code}, _refused(language))
        length = spoken_duration(args.total_s, language)
        if args.name and args.reminder:
            speech = pick(
                language,
                en=f"I'll remind you after {length}: {args.name}.",
                de=f"Ich erinnere dich, Zeit bis dahin {length}: {args.name}.",
            )
        elif args.name:
            speech = pick(
                language, en=f"{args.name} timer set for {length}.", de=f"{args.name}: Timer über {length} läuft."
            )
        else:
            speech = pick(language, en=f"Timer set for {length}.", de=f"Timer über {length} läuft.")
        return success(_data(timer), speech[0].upper() + speech[1:])

    async def set_alarm(self, args: SetAlarmArgs, ctx: ToolContext) -> ToolResultData:
        """Set an alarm."""
        language = ctx.language
        due = next_due(args, self._now().astimezone(self._zone))
        try:
            timer = await self._timers.set_alarm(due, args.name)
        except InputError as fault:
            return failure(
                {"code": fault.code},
                pick(language, en="That time has already passed.", de="Diese Zeit ist schon vorbei."),
            )
        when = self._spoken_due(due, language)
        speech = pick(language, en=f"Alarm set for {when}.", de=f"Der Wecker ist gestellt: {when}.")
        return success(_data(timer), speech)

    async def list_timers(self, args: PickArgs, ctx: ToolContext) -> ToolResultData:
        """Tell what runs."""
        language = ctx.language
        chosen = self._chosen(args)
        data = [_data(timer) for timer in chosen]
        ringing = self._ringing(args)
        if not chosen and not ringing:
            if args.name and self._timers.running():
                return failure(data, _unknown(args.name, language))
            none = pick(language, en="No timer is running.", de="Es läuft kein Timer.")
            if args.kind == "alarm":
                none = pick(language, en="No alarm is set.", de="Es ist kein Wecker gestellt.")
            return success(data, none)
        parts = [self._spoken(timer, language) for timer in chosen]
        parts += [
            pick(language, en=f"{_label(e, language)} is ringing", de=f"{_label(e, language)} klingelt")
            for e in ringing
        ]
        speech = f"{parts[0]}." if len(parts) == 1 else f"{'. '.join(parts)}."
        return success(data, speech)

    async def change_timer(self, args: ChangeArgs, ctx: ToolContext) -> ToolResultData:
        """Lengthen or shorten a timer."""
        language = ctx.language
        chosen = [timer for timer in self._chosen(PickArgs(name=args.name)) if timer.kind == "timer"]
        if len(chosen) != 1:
            return self._not_one(args.name, chosen, language)
        by_s = -args.total_s if args.shorter else args.total_s
        if chosen[0].remaining_s + by_s <= 0:
            return failure(
                _data(chosen[0]),
                pick(
                    language,
                    en=f"It only has {spoken_duration(chosen[0].remaining_s, language)} left.",
                    de=f"Er läuft nur noch {spoken_duration(chosen[0].remaining_s, language)}.",
                ),
            )
        try:
            timer = await self._timers.change(chosen[0].id, by_s)
        except InputError as fault:
            return failure({"code": fault.code}, _refused(language))
        return success(_data(timer), f"{self._spoken(timer, language)}.")

    async def cancel_timer(self, args: CancelArgs, ctx: ToolContext) -> ToolResultData:
        """Silence what rings, else cancel."""
        language = ctx.language
        ringing = self._ringing(args)
        if ringing:
            for event in ringing:
                self._timers.dismiss(event.id)
            if not args.every:
                return success({"dismissed": [event.id for event in ringing]}, pick(language, en="Okay.", de="Gut."))
        chosen = self._chosen(args)
        if args.kind is None and not args.name and len(chosen) > 1:
            chosen = [timer for timer in chosen if timer.kind == "timer"] or chosen
        if not args.every and len(chosen) != 1:
            return self._not_one(args.name, chosen, language, args.kind)
        for timer in chosen:
            await self._timers.cancel(timer.id)
        data = {"cancelled": [_data(timer) for timer in chosen]}
        if not chosen and not ringing:
            return self._not_one(args.name, chosen, language, args.kind)
        if len(chosen) > 1:
            return success(data, pick(language, en=f"{len(chosen)} cancelled.", de=f"{len(chosen)} gelöscht."))
        what = _label(chosen[0], language) if chosen else pick(language, en="Okay", de="Gut")
        return success(data, pick(language, en=f"{what} cancelled.", de=f"{what} gelöscht."))

    def _chosen(self, args: PickArgs) -> list[RunningTimer]:
        found = self._timers.running()
        if args.kind is not None:
            found = [timer for timer in found if timer.kind == args.kind]
        if args.name:
            found = [timer for timer in found if _same_name(timer.name, args.name)]
        if args.total_s:
            found = [timer for timer in found if abs(timer.seconds - args.total_s) < 1]
        return found

    def _ringing(self, args: PickArgs) -> list[TimerDue]:
        return [
            event
            for event in self._timers.ringing()
            if (args.name is None or _same_name(event.name, args.name))
            and (args.kind is None or event.kind == args.kind)
            and (not args.total_s or abs(event.seconds - args.total_s) < 1)
        ]

    def _not_one(
        self, name: str | None, chosen: list[RunningTimer], language: str, kind: Kind | None = None
    ) -> ToolResultData:
        """Say that there is none, or ask which one."""
        if chosen:
            names = join([_label(timer, language) for timer in chosen], language)
            return failure(
                {"ambiguous": [_data(timer) for timer in chosen]},
                pick(language, en=f"Which one? There are {names}.", de=f"Welchen meinst du? Es gibt {names}."),
            )
        if name:
            return failure({"name": name}, _unknown(name, language))
        if kind == "alarm":
            return failure({}, pick(language, en="No alarm is set.", de="Es ist kein Wecker gestellt."))
        return failure({}, pick(language, en="No timer is running.", de="Es läuft kein Timer."))

    def _spoken(self, timer: RunningTimer, language: str) -> str:
        label = _label(timer, language)
        if timer.kind == "alarm":
            return f"{label}: {self._spoken_due(timer.due, language)}"
        left = spoken_duration(max(1.0, timer.remaining_s), language)
        return pick(language, en=f"{label}: {left} left", de=f"{label}: noch {left}")

    def _spoken_due(self, due: datetime, language: str) -> str:
        local, today = due.astimezone(self._zone), self._now().astimezone(self._zone).date()
        said = spoken_time(local, language)
        if local.date() == today:
            return said
        if local.date() == today + timedelta(days=1):
            return pick(language, en=f"tomorrow at {said}", de=f"morgen um {said}")
        return pick(language, en=f"{local:%A} at {said}", de=f"{_weekday_de(local)} um {said}")


def next_due(args: SetAlarmArgs, now: datetime) -> datetime:
    """The next moment after ``now`` (aware, local) that the words of ``args`` can mean.

    Without "am", "pm" or a 24-hour reading an hour up to twelve means whichever comes first.
    """
    minutes = args.hour * 60 + (-abs(args.minute) if args.before else args.minute)
    tomorrow = args.when is not None and args.when.startswith("tomorrow")
    half = (args.when or "").rpartition(" ")[2]
    candidates = [minutes]
    if half == "pm" and args.hour < 12:
        candidates = [minutes + 720]
    elif half == "am" and args.hour == 12:
        candidates = [minutes - 720]
    elif half not in {"am", "pm"} and not args.exact and not tomorrow and 1 <= args.hour <= 12:
        candidates = [minutes - 720, minutes, minutes + 720]
    midnight = datetime(now.year, now.month, now.day)
    first = 1 if tomorrow else 0
    days = [first] if args.when in {"today"} or tomorrow else [first, first + 1]
    moments = [
        (midnight + timedelta(days=day, minutes=minute)).replace(tzinfo=now.tzinfo)
        for day in days
        for minute in candidates
    ]
    return min((moment for moment in moments if moment > now), default=moments[-1])


def _same_name(known: str | None, wanted: str) -> bool:
    if known is None:
        return False
    a, b = known.lower().split(), wanted.lower().split()
    return a == b or " ".join(a).removeprefix("the ") == " ".join(b).removeprefix("the ")


def _label(timer: RunningTimer | TimerDue, language: str) -> str:
    if timer.kind == "alarm":
        return timer.name or pick(language, en="Alarm", de="Wecker")
    if timer.name:
        return pick(language, en=f"{timer.name[0].upper()}{timer.name[1:]} timer", de=f"{timer.name}-Timer")
    length = spoken_duration(timer.seconds, language)
    return pick(language, en=f"Timer for {length}", de=f"Timer über {length}")


def _unknown(name: str, language: str) -> str:
    return pick(language, en=f"There is no {name} timer.", de=f"Es gibt keinen Timer namens {name}.")


def _refused(language: str) -> str:
    return pick(
        language,
        en="A timer can run for at least one second and at most a week.",
        de="Ein Timer kann mindestens eine Sekunde und höchstens eine Woche laufen.",
    )


def _weekday_de(moment: datetime) -> str:
    from babel.dates import format_date

    return format_date(moment.date(), "EEEE", locale="de_DE")


def _data(timer: RunningTimer) -> dict[str, object]:
    return {
        "id": timer.id,
        "name": timer.name,
        "kind": timer.kind,
        "due": timer.due.isoformat(timespec="seconds"),
        "remaining_s": round(timer.remaining_s),
    }
