"""What people say to be woken at a time of day, in English and German."""

from __future__ import annotations

from typing import Any

from agents.core.model import Sentences
from agents.everyday.timer_sentences import SET, STELL, STELLEN

_WHEN_EN: dict[str, Any] = {
    "values": [
        {"in": "(am|in the morning|this morning)", "out": "am"},
        {"in": "(pm|in the afternoon|in the evening|at night|tonight|this evening|this afternoon)", "out": "pm"},
        {"in": "today", "out": "today"},
        {"in": "tomorrow", "out": "tomorrow"},
        {"in": "(tomorrow morning|am tomorrow|in the morning tomorrow|am tomorrow morning)", "out": "tomorrow am"},
        {"in": "(tomorrow (evening|afternoon|night)|pm tomorrow)", "out": "tomorrow pm"},
    ]
}
_WHEN_DE: dict[str, Any] = {
    "values": [
        {"in": "(morgens|früh|in der früh|am morgen|heute früh|vormittags)", "out": "am"},
        {"in": "(abends|nachmittags|am abend|heute abend|am nachmittag|heute nachmittag)", "out": "pm"},
        {"in": "heute", "out": "today"},
        {"in": "morgen", "out": "tomorrow"},
        {"in": "(morgen früh|morgen vormittag)", "out": "tomorrow am"},
        {"in": "(morgen abend|morgen nachmittag)", "out": "tomorrow pm"},
    ]
}
_PAST_EN: dict[str, Any] = {
    "values": [
        {"in": "[a] quarter (past|after)", "out": 15},
        {"in": "half past", "out": 30},
        {"in": "[a] quarter (to|before|of)", "out": -15},
    ]
}
_PAST_DE: dict[str, Any] = {
    "values": [
        {"in": "viertel nach", "out": 15},
        {"in": "halb", "out": -30},
        {"in": "(viertel vor|dreiviertel)", "out": -15},
    ]
}
_CLOCK_LISTS: dict[str, Any] = {"hour": (0, 24), "minute": (0, 59)}
_ALARM_EN: dict[str, Any] = {**_CLOCK_LISTS, "when": _WHEN_EN, "past": _PAST_EN}
_ALARM_DE: dict[str, Any] = {**_CLOCK_LISTS, "when": _WHEN_DE, "past": _PAST_DE}
_AT_EN = (
    f"{SET} [on] [a|an|another|the|my] [new] alarm (for|at|to) {{}}",
    "wake me [up] at {}",
    "alarm (for|at) {}",
    "[a] wake up call (for|at) {}",
    "wake me [up] {{when}} at {}",
    f"{SET} [a|an|the|my] alarm for {{{{when}}}} at {{}}",
)
_AT_DE = (
    f"{STELL} [mir] [einen|den|noch einen] [neuen] (wecker|alarm) (auf|für|um) {{}} [ein]",
    f"{STELL} [mir] [einen|den] (wecker|alarm) [für] {{{{when}}}} (auf|um) {{}} [ein]",
    "(weck|wecke|wecken sie) mich [bitte] um {} [auf]",
    "(weck|wecke) mich {{when}} um {}",
    "mich um {} [auf] wecken",
    "mich {{when}} um {} wecken",
    f"[einen|den] (wecker|alarm) (auf|für|um) {{}} [{STELLEN}]",
    f"[einen|den] (wecker|alarm) [für] {{{{when}}}} (auf|um) {{}} [{STELLEN}]",
)


def _at(templates: tuple[str, ...], clock: str) -> tuple[str, ...]:
    return tuple(text.format(clock) for text in templates)


SET_ALARM = (
    Sentences("en", _at(_AT_EN, "({hour} {minute}|{hour} [o'clock]|{past:minute} {hour}) [{when}]"), _ALARM_EN),
    Sentences("en", _at(_AT_EN, "{minute} [minutes] (past|after) {hour} [{when}]"), _ALARM_EN),
    Sentences("en", _at(_AT_EN, "{minute} [minutes] (to|before) {hour} [{when}]"), _ALARM_EN, {"before": True}),
    Sentences("en", _at(_AT_EN, "noon"), {"when": _WHEN_EN}, {"hour": 12, "exact": True}),
    Sentences("en", _at(_AT_EN, "midnight"), {"when": _WHEN_EN}, {"hour": 0, "exact": True}),
    Sentences(
        "de", _at(_AT_DE, "({hour} uhr {minute}|{hour} uhr|{hour} {minute} [uhr]) [{when}]"), _ALARM_DE, {"exact": True}
    ),
    Sentences("de", _at(_AT_DE, "({past:minute} {hour}|{hour}) [uhr] [{when}]"), _ALARM_DE),
    Sentences("de", _at(_AT_DE, "{minute} [minuten] nach {hour} [{when}]"), _ALARM_DE),
    Sentences("de", _at(_AT_DE, "{minute} [minuten] vor {hour} [{when}]"), _ALARM_DE, {"before": True}),
    Sentences("de", _at(_AT_DE, "mitternacht"), {"when": _WHEN_DE}, {"hour": 0, "exact": True}),
)
