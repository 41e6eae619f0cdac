"""Lists and notes keep what they were told, and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.base.errors import GloveError
from agents.core.glove import Glove
from agents.everyday.book import EverydayBook
from agents.everyday.notes import note_tools
from agents.models.honest import HonestModel
from agents.models.intents import IntentFirst
from agents.models.matcher import SentenceMatcher
from agents.models.scripted import ScriptedModel
from tests.agents.everyday.desk import Desk


async def test_a_shopping_list(desk: Desk, matcher: SentenceMatcher) -> None:
    def say(text: str, language: str = "en") -> object:
        return desk.say(matcher, text, language)

    assert await say("What's on my shopping list?") == "There is nothing on the shopping list."
    assert await say("Add milk to the shopping list.") == "Added milk to the shopping list."
    assert await say("Add Milk to the shopping list.") == "Milk is already on the shopping list."
    assert await say("Put eggs, bread and oat milk on the shopping list.") == (
        "Added eggs, bread and oat milk to the shopping list."
    )
    assert await say("Remove bread from the shopping list.") == "Removed bread from the shopping list."
    assert await say("Remove beer from the shopping list.") == "beer is not on the shopping list."
    assert await say("Was steht auf der Einkaufsliste?", "de") == (
        "Auf der Einkaufsliste stehen milk, eggs und oat milk."
    )
    assert await say("Add a lamp to the IKEA list.") == "Added a lamp to the IKEA list."
    assert await say("What's on the IKEA list?") == "On the IKEA list is a lamp."
    assert await say("Clear the shopping list.") == "Cleared the shopping list: 3 items."
    assert await say("Leere die Einkaufsliste.", "de") == "Auf der Einkaufsliste stand nichts."


async def test_notes_are_found_by_their_words(desk: Desk, matcher: SentenceMatcher) -> None:
    def say(text: str, language: str = "en") -> object:
        return desk.say(matcher, text, language)

    assert await say("What do you remember?") == "I have no notes yet."
    assert await say("Remember that Anna's bike is in the cellar.") == "I'll remember: Anna's bike is in the cellar."
    assert await say("Remember that I've got two cats.") == "I'll remember: I've got two cats."
    assert await say("What do you know about Anna?") == "You told me: Anna's bike is in the cellar."
    assert await say("What do you know about the cat?") == "You told me: I've got two cats."
    assert await say("What do you know about the weather?") == "I have no note about the weather."
    assert await say("Was weißt du über Anna?", "de") == "Du hast mir gesagt: Anna's bike is in the cellar."
    assert await say("Forget that.") == "Forgotten: I've got two cats."
    assert await say("What do you remember?") == "You told me: Anna's bike is in the cellar."
    assert await say("Forget everything.") == "Forgotten: Anna's bike is in the cellar."
    assert await say("Vergiss das.", "de") == "So eine Notiz habe ich nicht."


async def test_what_is_asked_for_by_its_place_is_found_in_the_notes(desk: Desk, matcher: SentenceMatcher) -> None:
    await desk.say(matcher, "Remember that my bike is in the garage.")
    await desk.say(matcher, "Merk dir, dass mein Schlüssel unter der Matte liegt.", "de")
    assert await desk.say(matcher, "Where is my bike?") == "You told me: My bike is in the garage."
    assert await desk.say(matcher, "Where did I leave my bike?") == "You told me: My bike is in the garage."
    assert await desk.say(matcher, "Wo ist mein Schlüssel?", "de") == (
        "Du hast mir gesagt: Mein Schlüssel unter der Matte liegt."
    )
    assert await desk.say(matcher, "Where are my glasses?") == "I have no note about my glasses."
    assert matcher.match("Where is Paris?") == matcher.match("Wo ist der Eiffelturm?", "de") == []


async def test_what_no_note_knows_is_a_question_for_the_model() -> None:
    inner = ScriptedModel(["Perhaps where you read last."])
    glove = Glove(model=IntentFirst(inner), builtin_tools=False)
    for tool in note_tools(EverydayBook()):
        glove.fold(tool)
    glove.build()
    assert (await glove.process_request("Where are my glasses?")).text == "Perhaps where you read last."
    assert inner.requests[0].messages[0].text == "Where are my glasses?"
    await glove.process_request("Remember that my glasses are in the car.")
    found = await glove.process_request("Where are my glasses?")
    assert found.text == "You told me: My glasses are in the car." and len(inner.requests) == 1


async def test_without_a_model_it_says_that_there_is_no_note() -> None:
    glove = Glove(model=IntentFirst(HonestModel()), builtin_tools=False)
    for tool in note_tools(EverydayBook()):
        glove.fold(tool)
    glove.build()
    assert (await glove.process_request("Where are my glasses?")).text == "I have no note about my glasses."


async def test_many_notes_are_not_all_read_out(desk: Desk, matcher: SentenceMatcher) -> None:
    for number in range(30):
        await desk.book.add_note(f"fact number {number}")
    said = await desk.say(matcher, "What do you remember?")
    assert said.startswith("You asked me to remember 30 things. The latest: Fact number 25.")
    assert said.endswith("Fact number 29.")


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "book.db"
    book = EverydayBook(path)
    await book.add_item("Shopping", "milk")
    await book.add_note("a fact")
    await book.close()
    again = EverydayBook(path)
    assert await again.items("shopping") == ["milk"]
    assert [note.text for note in await again.notes()] == ["a fact"]
    assert await again.lists() == ["shopping"]
    await again.close()
    await again.close()


async def test_a_broken_file_is_said_and_not_retried(tmp_path: Path, desk: Desk) -> None:
    path = tmp_path / "book.db"
    path.write_text("this is no database " * 100)
    book = EverydayBook(path)
    with pytest.raises(GloveError) as caught:
        await book.items("shopping")
    assert caught.value.code == "ERR_STORE_CORRUPT"
    desk.book.__dict__.update(book.__dict__)
    result = await desk.call("read_list", "de")
    assert result.status == "error"
    assert result.speech == "Das lässt sich gerade nicht speichern oder lesen."


async def test_small_talk(desk: Desk, matcher: SentenceMatcher) -> None:
    assert await desk.say(matcher, "Repeat that.") == "I haven't said anything yet."
    said = await desk.say(matcher, "What can you do?")
    assert said == (
        "I can tell the time and the date, run timers and alarms, do sums, convert units, keep your shopping list and "
        "remember things for you."
    )
    assert await desk.say(matcher, "Say that again.") == said
    assert await desk.say(matcher, "Never mind.") == "All right."
    assert await desk.say(matcher, "Danke schön.", "de") == "Gern geschehen."
    assert await desk.say(matcher, "Okay, thanks.") == "You're welcome."
