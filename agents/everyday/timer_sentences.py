"""What people say about timers, in English and German."""

from __future__ import annotations

from typing import Any

from agents.core.model import Sentences

_HOURS: dict[str, Any] = {"range": (0, 168), "decimals": True}
_MINUTES: dict[str, Any] = {"range": (0, 10_080), "decimals": True}
_SECONDS: dict[str, Any] = {"range": (0, 604_800), "decimals": True}
_DE_AFTER = r"(?:minuten?|stunden?|sekunden?|halben?|viertelstunde|timer|wecker|uhr)"
_EN_AFTER = r"(?:minutes?|hours?|seconds?|half|timer|timers|alarm|alarms|countdown|o'clock)"


def _name(stop: str, words: int) -> dict[str, Any]:
    """A name of a few words that says nothing of numbers, durations or the timer itself."""
    word = rf"(?!\d|(?:{stop}|the|my|a|an|all|every|alle|den|die|meinen|einen|der|des|is|ist)\b)\S+"
    return {"wildcard": True, "pattern": rf"{word}(?: (?!{stop}\b)\S+){{0,{words - 1}}}"}


_LENGTHS_EN: dict[str, Any] = {
    "values": [
        {"in": "half an hour", "out": 1800},
        {"in": "[a|1] half hour", "out": 1800},
        {"in": "half hour", "out": 1800},
        {"in": "[a] quarter of an hour", "out": 900},
        {"in": "[a] quarter hour", "out": 900},
        {"in": "3 quarters of an hour", "out": 2700},
        {"in": "[a|an|1] hour and a half", "out": 5400},
        {"in": "[a|an|1] hour and a quarter", "out": 4500},
        {"in": "[a|1] minute and a half", "out": 90},
        {"in": "half a minute", "out": 30},
        {"in": "[a] couple [of] minutes", "out": 120},
    ]
}
_LENGTHS_DE: dict[str, Any] = {
    "values": [
        {"in": "(eine|einer|1) halbe[n] stunde", "out": 1800},
        {"in": "halbe stunde", "out": 1800},
        {"in": "[eine|einer|1] viertelstunde", "out": 900},
        {"in": "(eine|einer|1) viertel stunde", "out": 900},
        {"in": "[eine|einer|1] dreiviertelstunde", "out": 2700},
        {"in": "(eine|einer|1) dreiviertel stunde", "out": 2700},
        {"in": "(eine|einer) halbe[n] minute", "out": 30},
    ]
}

LISTS_EN: dict[str, Any] = {
    "hours": _HOURS,
    "minutes": _MINUTES,
    "seconds": _SECONDS,
    "length": _LENGTHS_EN,
    "name": _name(_EN_AFTER, 4),
    "what": {"wildcard": True},
}
LISTS_DE: dict[str, Any] = {
    "hours": _HOURS,
    "minutes": _MINUTES,
    "seconds": _SECONDS,
    "length": _LENGTHS_DE,
    "name": _name(_DE_AFTER, 4),
    "what": {"wildcard": True},
}

_H, _M, _S = "{hours} (hour[s]|hr[s])", "{minutes} (minute[s]|min[s])", "{seconds} (second[s]|sec[s])"
D_EN = f"({_H} [and] {_M}|{_H}|{_M} [and] {_S}|{_M}|{_S}|{{length:seconds}})"
_HD, _MD, _SD = "{hours} (stunde[n]|std)", "{minutes} (minute[n]|min)", "{seconds} (sekunde[n]|sek)"
D_DE = f"({_HD} [und] {_MD}|{_HD}|{_MD} [und] {_SD}|{_MD}|{_SD}|{{length:seconds}})"

SET = "(set|start|create|make|begin|add|put|run|give me|set me|i need|i want)"
STELL = "(stell|stelle|stellen sie|setz|setze|starte|start|mach|mache|erstelle|gib|ich brauche|ich möchte)"
STELLEN = "(stellen|setzen|starten|machen|erstellen)"

SET_TIMER = (
    Sentences(
        "en",
        (
            f"{SET} [on] [a|an|another|the|my] [new] (timer|countdown|count down) "
            f"(for|of|to|at|with|on|from) {D_EN} [long]",
            f"{SET} [on] [a|an|another|the] [new] {D_EN} (timer|countdown)",
            f"[a|new] (timer|countdown) [for|of|at] {D_EN}",
            f"[a|another] {D_EN} (timer|countdown)",
            f"{SET} [a|an] alarm (in|for) {D_EN} [from now]",
            f"wake me [up] in {D_EN}",
            f"(set|start|create) [a|the] timer {D_EN}",
            f"count [down] [from] {D_EN}",
            f"time {D_EN}",
            f"remind me in {D_EN}",
            f"{D_EN} on the timer",
        ),
        LISTS_EN,
    ),
    Sentences(
        "en",
        (
            f"{SET} [a|an|another|the|my] {{name}} timer (for|of|to|at) {D_EN}",
            f"{{name}} timer (for|of|at) {D_EN}",
            f"{SET} [a|an|another] {D_EN} {{name}} timer",
            f"{D_EN} {{name}} timer",
            f"{SET} [a|an|another|the] timer for {D_EN} (called|named|labeled|for [the|my]) {{name}}",
            f"{SET} [a|an|another|the] {D_EN} timer (called|named|labeled|for [the|my]) {{name}}",
            f"{SET} [a|an|another|the] timer (called|named|labeled) {{name}} for {D_EN}",
            f"{SET} [a|an|another|the] timer for [the|my] {{name}} for {D_EN}",
        ),
        LISTS_EN,
    ),
    Sentences(
        "en",
        (
            f"remind me to {{what:name}} in {D_EN}",
            f"remind me in {D_EN} [that|to] {{what:name}}",
            f"in {D_EN} remind me to {{what:name}}",
            f"remind me (about|of) {{what:name}} in {D_EN}",
        ),
        LISTS_EN,
        {"reminder": True},
    ),
    Sentences(
        "de",
        (
            f"{STELL} [mir] [mal] [einen|den|noch einen|ein] [neuen] (timer|kurzzeitwecker|wecker|countdown)"
            f" [auf|für|über|von|mit|in] {D_DE} [ein]",
            f"{STELL} [mir] [mal] [einen|den|noch einen] [neuen] {D_DE} timer [ein]",
            f"[einen|den|noch einen|ein] [neuen] timer [auf|für|über|von|mit] {D_DE} [{STELLEN}]",
            f"[einen|den|noch einen] {D_DE} timer [{STELLEN}]",
            f"(weck|wecke|wecken sie) mich in {D_DE} [auf]",
            f"(erinner|erinnere) mich in {D_DE}",
            f"mich in {D_DE} (wecken|erinnern)",
            f"timer {D_DE}",
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            f"{STELL} [mir] [einen|den|noch einen] timer (namens|mit [dem] namen|für [die|den|das]) "
            f"{{name}} (auf|für|über) {D_DE}",
            f"{STELL} [mir] [einen|den|noch einen] timer (auf|für|über|von) {D_DE} (namens|mit [dem] "
            "namen|für [die|den|das])"
            " {name}",
            f"{STELL} [mir] [einen|den|noch einen] {D_DE} timer (namens|für [die|den|das]) {{name}}",
            f"{STELL} [mir] [einen|den|noch einen] {{name}} timer (auf|für|über|von) {D_DE}",
            f"{{name}} timer (auf|für|über|von) {D_DE} [{STELLEN}]",
            f"[einen|den] {{name}} timer (auf|für|von) {D_DE} {STELLEN}",
            f"[einen|den] timer (auf|für|von) {D_DE} (namens|für [die|den|das]) {{name}} {STELLEN}",
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            f"(erinner|erinnere) mich in {D_DE} (an|daran) [die|den|das] {{what:name}}",
            f"(erinner|erinnere) mich (an|daran) [die|den|das] {{what:name}} in {D_DE}",
            f"mich in {D_DE} (an|daran) [die|den|das] {{what:name}} [zu] erinnern",
        ),
        LISTS_DE,
        {"reminder": True},
    ),
)

_LEFT_EN = "(left|remaining|remain|to go)"
LIST_TIMERS = (
    Sentences(
        "en",
        (
            "(what|which) timers are [currently] (running|set|active|on)",
            "(list|show|read) [me] [all] [of] [my|the] timers",
            "(what|which) timers do i have [running]",
            "(do i have|are there) any timers [running|set]",
            f"how (long|much time) [is|do i have] {_LEFT_EN}",
            f"how (long|much time) is {_LEFT_EN} on [the|my] (timer|timers)",
            f"how (long|much time) (has|does) the timer (have|got) {_LEFT_EN}",
            "how many timers (are|do i have) [running|set|there]",
            f"how many (minutes|seconds) [are] {_LEFT_EN} [on [the|my] timer]",
            "(timer|timers) status",
            "check [the|my] (timer|timers)",
            "[what|how] is the [status of the] timer [at]",
            "how much longer [is there] [on the timer]",
            "what are my timers",
            f"how (long|much time) (do i|do we) [still] have {_LEFT_EN} [on [the|my] timer]",
            "is (the|a|my) timer [still] running",
            "how long until the timer [goes off|is done|ends|rings]",
            "how much time is left",
        ),
    ),
    Sentences(
        "en",
        (
            f"how (long|much time) is {_LEFT_EN} (on|for|of) [the|my] {{name}} timer",
            "how long until the {name} timer [goes off|is done]",
            f"how (long|much time) does the {{name}} timer have {_LEFT_EN}",
            "how (long|much) is the {name} timer",
            "check the {name} timer",
            f"how many minutes [are] {_LEFT_EN} on [the|my] {{name}} timer",
        ),
        LISTS_EN,
    ),
    Sentences(
        "en",
        (
            "(what|which) alarms (are [set|on]|do i have [set])",
            "(list|show) [me] [all] [my|the] alarms",
            "when (is|does) [my|the] [next] alarm [go off]",
            "(do i have|are there) any alarms [set]",
            "is (my|the|an) alarm set",
        ),
        arguments={"kind": "alarm"},
    ),
    Sentences(
        "de",
        (
            "(welche|was für) timer (laufen|sind [gestellt|aktiv|an]|habe ich) [gerade|noch]",
            "wie viele timer (laufen|habe ich) [gerade]",
            "(läuft|laufen) [gerade|noch] [ein|der|mein] timer [noch]",
            "(zeig|zeige|nenn|nenne|sag) [mir] [alle] [meine|die] timer",
            "wie lange (noch|läuft der timer [noch]|dauert es noch|geht der timer noch|dauert der "
            "timer noch|muss ich noch warten)",
            "wie viel zeit (ist|bleibt|habe ich|bleibt mir) noch [auf dem timer|übrig]",
            "wie lange hat der timer noch",
            "wie (weit|steht es mit|viel hat) [ist] [der|dem] timer [noch]",
            "wie viele (minuten|sekunden) (noch|sind es noch)",
            "wie viel zeit hat der timer noch",
            "wie steht der timer",
            "welche timer habe ich gestellt",
            "meine timer",
            "wie lange (noch läuft der timer|der timer noch läuft)",
            "wie viel zeit ist noch übrig",
        ),
    ),
    Sentences(
        "de",
        (
            "wie lange (läuft|geht|dauert|hat) der {name} timer noch",
            "wie viel zeit (ist|bleibt|hat) [noch] [auf] (der|dem|beim) {name} timer [noch]",
            "wie lange noch [auf dem|beim] {name} timer",
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            "(welche|was für) (wecker|alarme) (sind [gestellt|an]|habe ich [gestellt])",
            "wann (klingelt|läutet|geht) [der|mein] wecker [los]",
            "(ist|habe ich) [der|ein|einen|mein] wecker (gestellt|an)",
            "auf wann ist der wecker gestellt",
        ),
        arguments={"kind": "alarm"},
    ),
)

_DROP_EN = "(cancel|delete|remove|stop|clear|end|kill|turn off|switch off|shut off|dismiss|silence|abort)"
_DROP_DE = "(lösch|lösche|stopp|stoppe|stop|beende|entferne|storniere)"
_PUT_DE = "(brich|stell|stelle|schalte|schalt|mach|mache)"
_DROP_DE_END = "(löschen|stoppen|beenden|abbrechen|entfernen|ausschalten|abstellen|ausmachen|stornieren)"


def _dropped(what: str) -> tuple[str, str]:
    """With verbs that stand alone ("lösche den Timer") with those that need a particle ("stell den Timer ab")."""
    return f"{_DROP_DE} {what}", f"{_PUT_DE} {what} (ab|aus)"


CANCEL_TIMER = (
    Sentences(
        "en",
        (
            f"{_DROP_EN} [the|my|that|this] [running|current|last] (timer|countdown)",
            "turn [the|my] timer off",
            "[the] timer off",
            "never mind the timer",
            "i do not need the timer [anymore|any more]",
        ),
    ),
    Sentences(
        "en",
        (
            f"{_DROP_EN} (all|every|all of) [the|my] [running] (timers|timer)",
            f"{_DROP_EN} [both|the|my] timers",
            "turn [all] [the|my] timers off",
        ),
        arguments={"every": True},
    ),
    Sentences(
        "en",
        (
            f"{_DROP_EN} [the|my|that] {{name}} timer",
            f"{_DROP_EN} [the|my|that] timer (called|named|for [the]) {{name}}",
            "turn [the|my] {name} timer off",
        ),
        LISTS_EN,
    ),
    Sentences(
        "en", (f"{_DROP_EN} [the|my|that] {D_EN} timer", f"{_DROP_EN} [the|my|that] timer (for|of) {D_EN}"), LISTS_EN
    ),
    Sentences("en", (f"{_DROP_EN} [the|my|that] alarm", "turn [the|my] alarm off"), arguments={"kind": "alarm"}),
    Sentences(
        "en",
        (f"{_DROP_EN} (all|every|all of) [the|my] (alarms|alarm)", f"{_DROP_EN} [the|my] alarms"),
        arguments={"kind": "alarm", "every": True},
    ),
    Sentences(
        "de",
        (
            *_dropped("[den|meinen|diesen] [laufenden|letzten] timer"),
            f"[den|meinen] timer {_DROP_DE_END}",
            "timer (stopp|stop|aus|weg|abbrechen)",
            "ich brauche den timer nicht mehr",
        ),
    ),
    Sentences(
        "de",
        (*_dropped("(alle|sämtliche|beide|die|meine) timer"), f"(alle|beide|die) timer {_DROP_DE_END}"),
        arguments={"every": True},
    ),
    Sentences(
        "de",
        (
            *_dropped("[den|meinen] {name} timer"),
            f"[den|meinen] {{name}} timer {_DROP_DE_END}",
            *_dropped("den timer für [die|den|das] {name}"),
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            *_dropped(f"[den|meinen] {D_DE} timer"),
            *_dropped(f"[den|meinen] timer (über|von|auf|für) {D_DE}"),
            f"[den|meinen] {D_DE} timer {_DROP_DE_END}",
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            *_dropped("[den|meinen] (wecker|alarm)"),
            f"[den|meinen] (wecker|alarm) {_DROP_DE_END}",
            "wecker aus",
        ),
        arguments={"kind": "alarm"},
    ),
    Sentences(
        "de",
        (*_dropped("(alle|meine|die) (wecker|alarme)"), f"alle (wecker|alarme) {_DROP_DE_END}"),
        arguments={"kind": "alarm", "every": True},
    ),
)

CHANGE_TIMER = (
    Sentences(
        "en",
        (
            f"add [another] {D_EN} [more] [to (the|my) [{{name}}] timer]",
            f"(extend|lengthen) [the|my] [{{name}}] timer by {D_EN}",
            f"make [the|my] [{{name}}] timer {D_EN} longer",
            f"give me {D_EN} more",
            f"{D_EN} more [on the timer]",
        ),
        LISTS_EN,
    ),
    Sentences(
        "en",
        (
            f"(take|remove|subtract) {D_EN} (off|from|off of) [the|my] [{{name}}] timer",
            f"(shorten|reduce) [the|my] [{{name}}] timer by {D_EN}",
            f"make [the|my] [{{name}}] timer {D_EN} shorter",
        ),
        LISTS_EN,
        {"shorter": True},
    ),
    Sentences(
        "de",
        (
            f"(verlänger|verlängere) [den|meinen] [{{name}}] timer um {D_DE}",
            f"[den|meinen] [{{name}}] timer um {D_DE} verlängern",
            f"(gib|füge|füg) [dem] [{{name}}] timer [noch] {D_DE} (mehr|hinzu|dazu)",
            f"[noch] {D_DE} (mehr|länger|dazu)",
            f"(stell|stelle|mach|mache) [den] [{{name}}] timer [um] {D_DE} länger",
            f"gib mir noch {D_DE}",
        ),
        LISTS_DE,
    ),
    Sentences(
        "de",
        (
            f"(verkürz|verkürze|kürze) [den|meinen] [{{name}}] timer um {D_DE}",
            f"[den|meinen] [{{name}}] timer um {D_DE} (verkürzen|kürzen)",
            f"(stell|stelle|mach|mache) [den] [{{name}}] timer [um] {D_DE} kürzer",
            f"(nimm|zieh|ziehe) {D_DE} vom [{{name}}] timer [ab|weg]",
        ),
        LISTS_DE,
        {"shorter": True},
    ),
)
