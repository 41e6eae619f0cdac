"""What people say, as a recogniser writes it, and what it calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.models.matcher import SentenceMatcher

Call = tuple[str, dict[str, Any]]

ENGLISH: list[tuple[str, str, dict[str, Any]]] = [
    # time and date
    ("What time is it?", "get_time", {}),
    ("What's the time?", "get_time", {}),
    ("Hey, could you tell me what time it is, please?", "get_time", {}),
    ("What time is it right now?", "get_time", {}),
    ("WHAT TIME IS IT", "get_time", {}),
    ("What time is it in New York?", "get_time", {"place": "New York"}),
    ("What's the current time in São Paulo?", "get_time", {"place": "São Paulo"}),
    ("What day is it today?", "get_date", {}),
    ("What's today's date?", "get_date", {}),
    ("What date is tomorrow?", "get_date", {"days": 1}),
    ("What day was yesterday?", "get_date", {"days": -1}),
    ("What day is the day after tomorrow?", "get_date", {"days": 2}),
    ("What day is it in ten days?", "get_date", {"days": 10}),
    # sums
    ("What's 17 + 25?", "calculate", {"expression": "17 plus 25"}),
    ("What is seventeen plus twenty-five?", "calculate", {"expression": "17 plus 25"}),
    ("17 + 25", "calculate", {"expression": "17 plus 25"}),
    ("How much is 12 times 12?", "calculate", {"expression": "12 times 12"}),
    ("Calculate 1,000 divided by 8.", "calculate", {"expression": "1000 divided by 8"}),
    ("What's 15% of 80?", "calculate", {"expression": "15 percent of 80"}),
    ("What is twelve percent of two hundred and fifty?", "calculate", {"expression": "12 percent of 250"}),
    ("What's the square root of 144?", "calculate", {"expression": "the square root of 144"}),
    ("What is 3.5 x 2?", "calculate", {"expression": "3.5 times 2"}),
    ("What's three point one four times two?", "calculate", {"expression": "3.14 times 2"}),
    ("What is 2 to the power of 10?", "calculate", {"expression": "2 to the power of 10"}),
    ("What's 100 - 58?", "calculate", {"expression": "100 minus 58"}),
    ("What is 9 squared?", "calculate", {"expression": "9 squared"}),
    ("What's 5 minus 8 plus 2?", "calculate", {"expression": "5 minus 8 plus 2"}),
    # units
    ("How many kilometers are in 5.5 miles?", "convert_units",
     {"amount": 5.5, "from_unit": "mile", "to_unit": "kilometer"}),
    ("Convert 20 degrees Celsius to Fahrenheit.", "convert_units",
     {"amount": 20, "from_unit": "degree_Celsius", "to_unit": "degree_Fahrenheit"}),
    ("What's 20°C in Fahrenheit?", "convert_units",
     {"amount": 20, "from_unit": "degree_Celsius", "to_unit": "degree_Fahrenheit"}),
    ("What's minus 5 degrees Celsius in Fahrenheit?", "convert_units",
     {"amount": 5, "from_unit": "degree_Celsius", "to_unit": "degree_Fahrenheit", "negative": True}),
    ("How many ounces are in a pound?", "convert_units", {"amount": 1, "from_unit": "pound", "to_unit": "ounce"}),
    ("Two and a half pounds in kilograms", "convert_units",
     {"amount": 2.5, "from_unit": "pound", "to_unit": "kilogram"}),
    ("How many seconds are in an hour?", "convert_units", {"amount": 1, "from_unit": "hour", "to_unit": "second"}),
    ("Convert 100 kilometers per hour to miles per hour", "convert_units",
     {"amount": 100, "from_unit": "kilometer_per_hour", "to_unit": "mile_per_hour"}),
    # timers
    ("Set a timer for five minutes.", "set_timer", {"minutes": 5}),
    ("Set a 5-minute timer.", "set_timer", {"minutes": 5}),
    ("Set a five minute timer for me, please.", "set_timer", {"minutes": 5}),
    ("Um, set a timer for, uh, ten minutes.", "set_timer", {"minutes": 10}),
    ("Could you please start a timer for half an hour?", "set_timer", {"seconds": 1800}),
    ("Set a timer for an hour and a half.", "set_timer", {"seconds": 5400}),
    ("Set a timer for one and a half hours", "set_timer", {"hours": 1.5}),
    ("Set a timer for 1 hour and 20 minutes.", "set_timer", {"hours": 1, "minutes": 20}),
    ("Set a timer for 2 minutes and 30 seconds.", "set_timer", {"minutes": 2, "seconds": 30}),
    ("Set a timer for a minute.", "set_timer", {"minutes": 1}),
    ("Start an hour timer", "set_timer", {"hours": 1}),
    ("Timer, 45 seconds.", "set_timer", {"seconds": 45}),
    ("Set a timer for a quarter of an hour.", "set_timer", {"seconds": 900}),
    ("Set a pasta timer for 10 minutes.", "set_timer", {"name": "pasta", "minutes": 10}),
    ("Set a timer for 12 minutes called soft eggs.", "set_timer", {"name": "soft eggs", "minutes": 12}),
    ("Set a 20 minute timer for the laundry.", "set_timer", {"name": "laundry", "minutes": 20}),
    ("Remind me to take out the pizza in twenty minutes.", "set_timer",
     {"name": "take out the pizza", "minutes": 20, "reminder": True}),
    ("Remind me in two hours to call Anna.", "set_timer", {"name": "call Anna", "hours": 2, "reminder": True}),
    ("Wake me up in 20 minutes.", "set_timer", {"minutes": 20}),
    ("Set an alarm for 7:30 a.m.", "set_alarm", {"hour": 7, "minute": 30, "when": "am"}),
    ("Wake me up at quarter to seven tomorrow.", "set_alarm", {"hour": 7, "minute": -15, "when": "tomorrow"}),
    ("Set an alarm for half past six in the morning.", "set_alarm", {"hour": 6, "minute": 30, "when": "am"}),
    ("Wake me at 8 o'clock.", "set_alarm", {"hour": 8}),
    ("Set an alarm for ten to nine.", "set_alarm", {"hour": 9, "minute": 10, "before": True}),
    ("How long is left on the timer?", "list_timers", {}),
    ("How much time is left on the pasta timer?", "list_timers", {"name": "pasta"}),
    ("What timers are running?", "list_timers", {}),
    ("Add 5 minutes to the timer.", "change_timer", {"minutes": 5}),
    ("Add two minutes to the pasta timer.", "change_timer", {"minutes": 2, "name": "pasta"}),
    ("Take one minute off the timer.", "change_timer", {"minutes": 1, "shorter": True}),
    ("Cancel the timer.", "cancel_timer", {}),
    ("Cancel all timers.", "cancel_timer", {"every": True}),
    ("Cancel the pasta timer.", "cancel_timer", {"name": "pasta"}),
    ("Cancel the five-minute timer.", "cancel_timer", {"minutes": 5}),
    ("Turn off the alarm.", "cancel_timer", {"kind": "alarm"}),
    # lists and notes
    ("Add milk to the shopping list.", "add_to_list", {"item": "milk"}),
    ("Can you put two bottles of oat milk on my shopping list?", "add_to_list", {"item": "two bottles of oat milk"}),
    ("Add a new lamp to the IKEA list.", "add_to_list", {"item": "a new lamp", "name": "IKEA"}),
    ("What's on my shopping list?", "read_list", {}),
    ("Remove milk from the shopping list.", "remove_from_list", {"item": "milk"}),
    ("Clear the shopping list.", "clear_list", {}),
    ("Remember that Anna's bike is in the cellar.", "remember", {"fact": "Anna's bike is in the cellar"}),
    ("Please remember that I've got two cats.", "remember", {"fact": "I've got two cats"}),
    ("What do you know about Anna?", "recall", {"topic": "Anna"}),
    ("What do you remember?", "recall", {}),
    ("Forget that.", "forget", {}),
    ("Forget everything.", "forget", {"every": True}),
    # conversation
    ("What can you do?", "abilities", {}),
    ("Say that again, please.", "repeat", {}),
    ("What did you say?", "repeat", {}),
    ("Stop.", "stop", {}),
    ("Stop it!", "stop", {}),
    ("Never mind.", "never_mind", {}),
    ("Thank you very much.", "courtesy", {"kind": "thanks"}),
    ("Okay, thanks.", "courtesy", {"kind": "thanks"}),
    ("Hello!", "courtesy", {"kind": "hello"}),
    ("Good night.", "courtesy", {"kind": "goodbye"}),
    ("Can you hear me?", "courtesy", {"kind": "hear_me"}),
]  # fmt: skip

GERMAN: list[tuple[str, str, dict[str, Any]]] = [
    ("Wie spät ist es?", "get_time", {}),
    ("Wie viel Uhr ist es gerade?", "get_time", {}),
    ("Kannst du mir bitte sagen, wie spät es ist?", "get_time", {}),
    ("Wie spät ist es in Tokio?", "get_time", {"place": "Tokio"}),
    ("Sag mir die Uhrzeit.", "get_time", {}),
    ("Welcher Tag ist heute?", "get_date", {}),
    ("Welches Datum haben wir heute?", "get_date", {}),
    ("Welcher Wochentag ist morgen?", "get_date", {"days": 1}),
    ("Der wievielte ist heute?", "get_date", {}),
    ("Welcher Tag ist in drei Tagen?", "get_date", {"days": 3}),
    ("Was ist 17 + 25?", "calculate", {"expression": "17 plus 25"}),
    ("Was ist siebzehn plus fünfundzwanzig?", "calculate", {"expression": "17 plus 25"}),
    ("Wie viel ist zwölf mal zwölf?", "calculate", {"expression": "12 mal 12"}),
    ("Wieviel sind 15 Prozent von 80?", "calculate", {"expression": "15 Prozent von 80"}),
    ("Berechne 1.000 geteilt durch 8.", "calculate", {"expression": "1000 geteilt durch 8"}),
    ("Was ist die Wurzel aus 144?", "calculate", {"expression": "die Wurzel aus 144"}),
    ("Was ist drei Komma fünf mal zwei?", "calculate", {"expression": "3.5 mal 2"}),
    ("Was sind 3,5 x 2?", "calculate", {"expression": "3.5 mal 2"}),
    ("Zweihundertfünf minus dreißig", "calculate", {"expression": "205 minus 30"}),
    ("Wie viele Kilometer sind drei Meilen?", "convert_units",
     {"amount": 3, "from_unit": "mile", "to_unit": "kilometer"}),
    ("Was sind 20 Grad Celsius in Fahrenheit?", "convert_units",
     {"amount": 20, "from_unit": "degree_Celsius", "to_unit": "degree_Fahrenheit"}),
    ("Rechne zweieinhalb Kilogramm in Pfund um.", "convert_units",
     {"amount": 2.5, "from_unit": "kilogram", "to_unit": "pound"}),
    ("Wie viele Gramm hat eine Unze?", "convert_units", {"amount": 1, "from_unit": "ounce", "to_unit": "gram"}),
    ("Stell einen Timer auf fünf Minuten.", "set_timer", {"minutes": 5}),
    ("Stelle bitte einen Timer auf 10 Minuten.", "set_timer", {"minutes": 10}),
    ("Kannst du bitte einen Timer auf anderthalb Stunden stellen?", "set_timer", {"hours": 1.5}),
    ("Ähm, setz mal einen Timer auf, äh, zwanzig Minuten.", "set_timer", {"minutes": 20}),
    ("Timer fünf Minuten.", "set_timer", {"minutes": 5}),
    ("Starte einen 5-Minuten-Timer.", "set_timer", {"minutes": 5}),
    ("Stell einen Timer auf eine Minute.", "set_timer", {"minutes": 1}),
    ("Stell einen Timer auf eine halbe Stunde.", "set_timer", {"seconds": 1800}),
    ("Stell den Timer auf eine Stunde und zwanzig Minuten.", "set_timer", {"hours": 1, "minutes": 20}),
    ("Einen Timer über 30 Sekunden, bitte.", "set_timer", {"seconds": 30}),
    ("Stell einen Timer auf zehn Minuten für die Nudeln.", "set_timer", {"minutes": 10, "name": "Nudeln"}),
    ("Stell einen Nudel Timer auf acht Minuten.", "set_timer", {"minutes": 8, "name": "Nudel"}),
    ("Erinnere mich in einer halben Stunde an die Wäsche.", "set_timer",
     {"seconds": 1800, "name": "Wäsche", "reminder": True}),
    ("Weck mich in zwanzig Minuten.", "set_timer", {"minutes": 20}),
    ("Weck mich um halb acht.", "set_alarm", {"hour": 8, "minute": -30}),
    ("Stell den Wecker auf 7 Uhr 30.", "set_alarm", {"hour": 7, "minute": 30, "exact": True}),
    ("Stell den Wecker auf 7:30 Uhr.", "set_alarm", {"hour": 7, "minute": 30, "exact": True}),
    ("Weck mich morgen früh um sechs Uhr.", "set_alarm", {"hour": 6, "when": "tomorrow am", "exact": True}),
    ("Weck mich um Viertel vor sieben.", "set_alarm", {"hour": 7, "minute": -15}),
    ("Wie lange läuft der Timer noch?", "list_timers", {}),
    ("Wie lange noch?", "list_timers", {}),
    ("Welche Timer laufen gerade?", "list_timers", {}),
    ("Verlängere den Timer um fünf Minuten.", "change_timer", {"minutes": 5}),
    ("Stoppe den Timer.", "cancel_timer", {}),
    ("Brich den Timer ab.", "cancel_timer", {}),
    ("Lösche alle Timer.", "cancel_timer", {"every": True}),
    ("Den Nudel Timer löschen.", "cancel_timer", {"name": "Nudel"}),
    ("Setz Milch auf die Einkaufsliste.", "add_to_list", {"item": "Milch"}),
    ("Kannst du zwei Liter Milch auf die Einkaufsliste setzen?", "add_to_list", {"item": "zwei Liter Milch"}),
    ("Füge Brot zur Einkaufsliste hinzu.", "add_to_list", {"item": "Brot"}),
    ("Was steht auf der Einkaufsliste?", "read_list", {}),
    ("Streiche Milch von der Einkaufsliste.", "remove_from_list", {"item": "Milch"}),
    ("Leere die Einkaufsliste.", "clear_list", {}),
    ("Merk dir, dass Anna zwei Katzen hat.", "remember", {"fact": "Anna zwei Katzen hat"}),
    ("Was weißt du über Anna?", "recall", {"topic": "Anna"}),
    ("Vergiss das.", "forget", {}),
    ("Was kannst du alles?", "abilities", {}),
    ("Wie bitte?", "repeat", {}),
    ("Sag das bitte noch mal.", "repeat", {}),
    ("Stopp!", "stop", {}),
    ("Hör auf.", "stop", {}),
    ("Schon gut.", "never_mind", {}),
    ("Danke schön.", "courtesy", {"kind": "thanks"}),
    ("Guten Morgen.", "courtesy", {"kind": "hello"}),
    ("Auf Wiedersehen.", "courtesy", {"kind": "goodbye"}),
]  # fmt: skip

NOT_FOR_TOOLS: list[tuple[str, str]] = [
    ("en", "I think we should set a timer for the meeting because people talk too long."),
    ("en", "What time is it that you usually get up?"),
    ("en", "Set a timer"),
    ("en", "Set a timer for five"),
    ("en", "Set a timer for"),
    ("en", "Tell me a story about a timer that runs for five minutes."),
    ("en", "Why do we stop at red lights?"),
    ("en", "Stop the car before the bridge"),
    ("en", "Don't stop believing"),
    ("en", "What is love?"),
    ("en", "What is the capital of France?"),
    ("en", "How much is a ticket to Berlin?"),
    ("en", "How much is that?"),
    ("en", "Seventeen"),
    ("en", "25"),
    ("en", "What is 17?"),
    ("en", "Plus"),
    ("en", "The square root of all evil"),
    ("en", "Twenty percent of people like cheese"),
    ("en", "How many people live in Tokyo?"),
    ("en", "How many feet does a spider have?"),
    ("en", "I ran five miles in forty minutes."),
    ("en", "Add a little salt and stir"),
    ("en", "My list of favourite films is long"),
    ("en", "I remember that summer in Rome"),
    ("en", "Do you think he will remember it?"),
    ("en", "What do you think about Anna?"),
    ("en", "Thank you for the flowers you sent my mother last week"),
    ("en", "Hello darkness my old friend"),
    ("en", "Turn on the living room light"),
    ("en", "Play some music"),
    ("en", "And then she said never mind and left"),
    ("en", "Can you help me with my homework?"),
    ("en", "You."),
    ("en", "Um"),
    ("en", "..."),
    ("en", "The time is out of joint"),
    ("en", "What day would suit you for the meeting?"),
    ("en", "Wake me up before you go"),
    ("en", "Remind me what we talked about"),
    ("en", "Stop. Then we went home."),
    ("en", "Cancel my subscription to the newspaper"),
    ("de", "Wie spät ist es eigentlich geworden, als ihr heimkamt?"),
    ("de", "Stell einen Timer"),
    ("de", "Stell dir vor, es ist Krieg"),
    ("de", "Stell einen Timer auf fünf"),
    ("de", "Was ist Liebe?"),
    ("de", "Was ist die Hauptstadt von Frankreich?"),
    ("de", "Wie viel kostet das?"),
    ("de", "Wie viele Menschen leben in Tokio?"),
    ("de", "Der Zug hält heute nicht in Ulm."),
    ("de", "Er hat das schon gut gemacht"),
    ("de", "Einmal ist keinmal"),
    ("de", "Merkst du, dass es regnet?"),
    ("de", "Ich habe gestern fünf Kilometer geschafft"),
    ("de", "Danke für die Blumen, die du geschickt hast"),
    ("de", "Was kannst du mir über Goethe erzählen?"),
    ("de", "Um zehn"),
    ("de", "Weck keine schlafenden Hunde"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tool", "arguments"), ENGLISH, ids=[row[0] for row in ENGLISH])
def test_english_sentence_calls_its_tool(
    matcher: SentenceMatcher, text: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert [(match.tool, match.arguments) for match in matcher.match(text, "en")] == [(tool, arguments)]


@pytest.mark.parametrize(("text", "tool", "arguments"), GERMAN, ids=[row[0] for row in GERMAN])
def test_german_sentence_calls_its_tool(
    matcher: SentenceMatcher, text: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert [(match.tool, match.arguments) for match in matcher.match(text, "de")] == [(tool, arguments)]


@pytest.mark.parametrize(("language", "text"), NOT_FOR_TOOLS, ids=[row[1] for row in NOT_FOR_TOOLS])
def test_other_speech_calls_nothing(matcher: SentenceMatcher, language: str, text: str) -> None:
    assert matcher.match(text, language) == []


@pytest.mark.parametrize(("text", "tool"), [row[:2] for row in GERMAN[::4]])
def test_a_sentence_in_another_language_is_understood_too(matcher: SentenceMatcher, text: str, tool: str) -> None:
    assert [(match.tool, match.language) for match in matcher.match(text, "en")] == [(tool, "de")]


def test_recorded_conversation_calls_nothing(matcher: SentenceMatcher, shared_audio: Path) -> None:
    manifest = json.loads((shared_audio / "manifest.json").read_text(encoding="utf-8"))
    spoken = {clip["id"]: (clip.get("text") or "", clip.get("language")) for clip in manifest}
    called = {key: text for key, (text, language) in spoken.items() if matcher.match(text, language)}
    assert not called
    assert len(spoken) >= 20
