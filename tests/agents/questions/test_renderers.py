"""What is asked for each renderer, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from agents.core.display import DisplayManager, Slot
from agents.questions.contract import SPOKEN, Dialogue, GoesOn, NotUnderstood, Refused, Understood, Verdict
from agents.questions.renderers import FORMS, dialogue_for
from agents.questions.sentences import phrase
from agents.web.tools.ready_made import ready_made_tools

OPTIONS = [{"label": "Red wine", "value": "wine_red"}, "beer"]
INPUTS: dict[str, Any] = {
    "permission_request": {"renderer": "permission_request", "toolName": "deleteFile", "toolInput": {"path": "a.txt"}},
    "confirm_action": {"title": "Delete the file", "message": "It cannot be undone"},
    "approve_plan": {"title": "A plan", "steps": ["Boil water", {"title": "Make tea"}]},
    "ask_preference": {"question": "What to drink?", "options": OPTIONS},
    "suggest_options": {"prompt": "And now?", "options": OPTIONS, "wait": True},
    "text_input": {"prompt": "What is your name?"},
    "collect_form": {"title": "You", "fields": [{"name": "age", "label": "Your age", "type": "number"}]},
}


def dialogue(renderer: str, value: Any) -> Dialogue:
    return dialogue_for(DisplayManager(), Slot("slot_1", renderer, value, blocking=True))


def test_every_renderer_that_asks_has_a_spoken_form() -> None:
    assert set(FORMS) == set(INPUTS)
    assert {tool.name for tool in ready_made_tools()} - set(FORMS) == {"show_info_card"}


@pytest.mark.parametrize(
    ("renderer", "question"),
    [
        ("permission_request", "May I use delete file, with path: a.txt?"),
        ("confirm_action", "It cannot be undone. Delete the file?"),
        ("approve_plan", "A plan. Step 1: Boil water. Step 2: Make tea. Shall I go ahead?"),
        ("ask_preference", "What to drink? You can say Red wine or beer."),
        ("suggest_options", "And now? You can say Red wine or beer."),
        ("text_input", "What is your name?"),
        ("collect_form", "You. Your age?"),
    ],
)
def test_the_question(renderer: str, question: str) -> None:
    asked = dialogue(renderer, INPUTS[renderer])
    assert asked.question("en") == question
    assert asked.again("en") != question


@pytest.mark.parametrize(
    ("renderer", "said", "verdict"),
    [
        ("permission_request", "Yes, please.", Understood(True)),
        ("permission_request", "Never mind.", Refused()),
        ("permission_request", "No.", Understood(False)),
        ("permission_request", "Blue.", NotUnderstood()),
        ("confirm_action", "No.", Understood(False)),
        ("confirm_action", "Cancel.", Refused()),
        ("approve_plan", "Sounds good.", Understood(True)),
        ("ask_preference", "The first one.", Understood("wine_red")),
        ("ask_preference", "Beer, please.", Understood("beer")),
        ("ask_preference", "Cancel.", Refused()),
        ("suggest_options", "Beer and red wine.", Understood(["beer", "wine_red"])),
        ("suggest_options", "Beer.", Understood(["beer"])),
        ("text_input", " Anna Smith. ", Understood("Anna Smith.")),
        ("text_input", "Stop.", Refused()),
    ],
)
def test_the_answer(renderer: str, said: str, verdict: Verdict) -> None:
    assert dialogue(renderer, INPUTS[renderer]).hear(said, "en") == verdict


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ja", "xx"])
@pytest.mark.parametrize("renderer", list(INPUTS))
def test_every_language_asks_something(renderer: str, language: str) -> None:
    asked = dialogue(renderer, INPUTS[renderer])
    assert asked.question(language).strip() and asked.again(language).strip()
    assert "{" not in asked.question(language)


@pytest.mark.parametrize("value", [None, 3, [], "text", {"options": 3}, {"toolInput": [1]}, {"fields": []}])
@pytest.mark.parametrize("renderer", [*INPUTS, "unknown"])
def test_input_that_no_form_can_ask_is_asked_for_words(renderer: str, value: Any) -> None:
    assert dialogue(renderer, value).question("en").strip()


def test_a_renderer_of_others_may_bring_its_form_and_its_fault_is_bridged() -> None:
    display = DisplayManager()
    display.register_renderer("ours", {SPOKEN: FORMS["text_input"]})
    display.register_renderer("broken", {SPOKEN: lambda value: 1 / 0})
    ours = dialogue_for(display, Slot("slot_1", "ours", {"prompt": "Well?"}))
    broken = dialogue_for(display, Slot("slot_2", "broken", {"title": "Which?", "options": ["a", "b"]}))
    assert ours.question("en") == "Well?"
    assert broken.hear("b", "en") == Understood("b")


def test_a_form_walks_through_every_kind_of_field() -> None:
    fields = [
        {"name": "name", "label": "Name"},
        {"name": "mail", "label": "E-mail", "type": "email"},
        {"name": "day", "label": "Day", "type": "date"},
        {"name": "size", "label": "Size", "type": "choice", "options": ["small", "large"]},
        {"name": "gift", "label": "A gift", "type": "boolean"},
        {"name": "note", "label": "Note", "required": False},
    ]
    asked = dialogue("collect_form", {"title": "Order", "fields": fields})
    assert isinstance(asked.hear("skip", "en"), NotUnderstood), "a required field cannot be skipped"
    for said in ("Anna.", "anna at example dot com", "2027-05-03", "The large one.", "Yes.", "Skip."):
        step = asked.hear(said, "en")
        assert isinstance(step, GoesOn), said
        asked = step.dialogue
    assert asked.question("en") == (
        "I have: Name: Anna; E-mail: anna@example.com; Day: May 3, 2027; Size: large; A gift: yes; Note: nothing. "
        "Is that right?"
    )
    whole = {"name": "Anna", "mail": "anna@example.com", "day": "2027-05-03", "size": "large", "gift": True}
    assert asked.hear("Yes.", "en") == Understood(whole)
    change = asked.hear("No.", "en")
    assert isinstance(change, GoesOn)
    again = change.dialogue.hear("The size.", "en")
    assert isinstance(again, GoesOn) and again.dialogue.question("en").startswith("Size?")
    back = again.dialogue.hear("small", "en")
    assert isinstance(back, GoesOn) and back.dialogue.hear("Yes.", "en") == Understood({**whole, "size": "small"})


def test_sentences_exist_in_every_language() -> None:
    from agents.questions.sentences import _SENTENCES

    for key, variants in _SENTENCES.items():
        assert set(variants) == {"en", "de", "fr", "es", "ja"}, key
    assert phrase("yes", "pt-BR") == "yes"
